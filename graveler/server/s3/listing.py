"""Listings of a bucket: the refs of the repository at its root, and the entries of a ref below `<ref>/`.

Keys are `<ref>/<path>`. A prefix without a slash asks for refs: each is listed as a common prefix `<ref>/`, with every
delimiter. Otherwise the first segment of the prefix is the ref. A listing of the whole bucket therefore never lists the
entries of all branches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from heapq import merge
from itertools import groupby, islice
from typing import Final
from urllib.parse import quote

from starlette.responses import Response

from graveler.server.opening import read_at
from graveler.server.s3.buckets import read_token, token_of
from graveler.server.s3.call import S3Call, xml_response
from graveler.server.s3.object_metadata import etag_of, modified, time_of_document
from graveler.server.s3.refusals import NO_REFS, invalid_argument
from graveler.server.s3.request import S3Request
from graveler.server.s3.xml import Content
from graveler_core.errors import InvalidInput, Kind, NotFound, PermissionDenied
from graveler_core.facade.readable_ref import ReadableRef
from graveler_core.facade.repository import Repository
from graveler_core.model.entry import CommonPrefix, Entry

MAX_KEYS: Final = 1_000
"""Maximum number of keys and common prefixes of a page."""


@dataclass(frozen=True, slots=True)
class ListingQuery:
    """Parameters that both versions of the listing share."""

    prefix: str
    delimiter: str
    after: str
    """Key after which the page begins."""
    most: int
    encoded: bool
    """Encode keys as in URLs, because XML cannot hold every character."""

    @classmethod
    def of(cls, request: S3Request, after: str) -> ListingQuery:
        """Read the parameters of a request.

        Raises:
            S3Refusal: A parameter is not valid.
        """
        encoding = request.parameter("encoding-type")
        if encoding not in (None, "", "url"):
            raise invalid_argument(f"encoding-type {encoding[:40]!r}: must be url")
        return cls(
            request.parameter("prefix") or "",
            request.parameter("delimiter") or "",
            after,
            request.number("max-keys", MAX_KEYS, most=MAX_KEYS),
            bool(encoding),
        )

    def shown(self, key: str) -> str:
        """Return a key as the document has it."""
        return quote(key, safe="/") if self.encoded else key


@dataclass(frozen=True, slots=True)
class ListedPage:
    """Page of a listing."""

    items: list[tuple[str, Entry | None]]
    """Keys with their entries; `None` for common prefixes."""
    truncated: bool

    @property
    def last(self) -> str:
        """Last key of the page."""
        return self.items[-1][0] if self.items else ""


def list_objects_v2(call: S3Call) -> Response:
    """List keys, second version."""
    request = call.request
    token = read_token(request.parameter("continuation-token"))
    query = ListingQuery.of(request, token or request.parameter("start-after") or "")

    def content(page: ListedPage) -> list[tuple[str, Content]]:
        return [
            *_head(call, query, page),
            ("KeyCount", len(page.items)),
            *_optional(
                ("ContinuationToken", request.parameter("continuation-token") or ""),
                ("StartAfter", query.shown(request.parameter("start-after") or "")),
                ("NextContinuationToken", token_of(page.last) if page.truncated else ""),
            ),
            *_items(page, query, owner=request.parameter("fetch-owner") == "true"),
        ]

    given = request.parameter("continuation-token"), request.parameter("start-after"), request.parameter("fetch-owner")
    return _answer(call, query, content, ("version 2", *given))


def list_objects(call: S3Call) -> Response:
    """List keys, first version."""
    marker = call.request.parameter("marker") or ""
    query = ListingQuery.of(call.request, marker)

    def content(page: ListedPage) -> list[tuple[str, Content]]:
        return [
            *_head(call, query, page),
            ("Marker", query.shown(marker)),
            *_optional(("NextMarker", query.shown(page.last) if page.truncated else "")),
            *_items(page, query, owner=True),
        ]

    return _answer(call, query, content, ("version 1",))


def ref_names(repo: Repository, prefix: str = "", after: str = "") -> Iterator[str]:
    """Yield the names of branches and tags that begin with a prefix, in order, each once."""

    def tags() -> Iterator[str]:
        try:
            yield from (tag.id for tag in repo.tags(prefix, after))
        except PermissionDenied:  # the branches alone are a valid answer
            return

    names = merge((branch.id for branch in repo.branches(prefix, after)), tags())
    return (name for name, _ in groupby(names))


def _answer(
    call: S3Call,
    query: ListingQuery,
    content: Callable[[ListedPage], list[tuple[str, Content]]],
    others: tuple[str | None, ...],
) -> Response:
    """Answer with the page that a query asks for.

    Args:
        call: The request.
        query: Parameters of the listing.
        content: Returns the content of the document of a page.
        others: Everything that the document depends on besides the bucket, the query and the page.
    """

    def document_of(found: Iterable[tuple[str, Entry | None]]) -> Response:
        rest = iter(found)
        items = list(islice(rest, query.most))
        truncated = bool(items) and next(rest, None) is not None
        return xml_response("ListBucketResult", content(ListedPage(items, truncated)))

    def entries(_repo: Repository, at: ReadableRef) -> Response:
        after = _path_after(query)
        if after is None:
            return document_of(())
        ref, _, path = query.prefix.partition("/")
        found = at.list(path, after, query.delimiter, query.most + 1)
        named = ((f"{ref}/{item.path}", None if isinstance(item, CommonPrefix) else item) for item in found)
        return call.answers.answer(found, (call.bucket, query, *others), lambda: document_of(named))

    try:
        ref, slash, _ = query.prefix.partition("/")
        if not slash:
            return document_of(_refs(call.repository, query))
        return read_at(call.graveler, call.bucket, ref, entries, call.open)
    except NotFound as e:
        if e.kind in (Kind.RepositoryNotFound, Kind.RepositoryDeleting):
            raise
        return document_of(())  # a ref that does not exist has no keys
    except InvalidInput as e:
        if e.kind in NO_REFS:
            return document_of(())
        raise


def _refs(repo: Repository, query: ListingQuery) -> Iterable[tuple[str, None]]:
    """Return the refs that a prefix without a slash asks for."""
    after = query.after.partition("/")[0]
    names = _in_order_of_keys(ref_names(repo, query.prefix))
    return ((f"{name}/", None) for name in names if not after or _is_after(f"{name}/", query.after, after))


def _in_order_of_keys(names: Iterable[str]) -> Iterator[str]:
    """Yield sorted names in the order of the keys `<name>/`: the key of `main-2` is before that of `main`."""
    held: list[str] = []  # each begins with the one before it, and then has a character that is less than the slash
    for name in names:
        while held and not (name.startswith(held[-1]) and name[len(held[-1])] < "/"):
            yield held.pop()
        held.append(name)
    yield from reversed(held)


def _path_after(query: ListingQuery) -> str | None:
    """Return the path after which the entries of a ref are listed; `None` if all of its keys are before the page."""
    base = query.prefix.partition("/")[0] + "/"
    if query.after.startswith(base):
        return query.after.removeprefix(base)
    return None if query.after > base else ""


def _is_after(key: str, after: str, ref: str) -> bool:
    """Return true if a ref follows a key. A ref that is the key, or that contains it, was listed already."""
    return key > after and key != f"{ref}/"


def _head(call: S3Call, query: ListingQuery, page: ListedPage) -> list[tuple[str, Content]]:
    return [
        ("Name", call.bucket),
        ("Prefix", query.shown(query.prefix)),
        *_optional(("Delimiter", query.shown(query.delimiter)), ("EncodingType", "url" if query.encoded else "")),
        ("MaxKeys", query.most),
        ("IsTruncated", page.truncated),
    ]


def _items(page: ListedPage, query: ListingQuery, *, owner: bool) -> Iterator[tuple[str, Content]]:
    for key, entry in page.items:
        if entry is None:
            yield "CommonPrefixes", [("Prefix", query.shown(key))]
            continue
        content: list[tuple[str, Content]] = [
            ("Key", query.shown(key)),
            ("LastModified", time_of_document(modified(entry))),
            ("ETag", f'"{etag_of(entry)}"'),
            ("Size", entry.size if entry.data is None else len(entry.data)),
            ("StorageClass", "STANDARD"),
        ]
        if owner:
            content.append(("Owner", [("ID", "graveler"), ("DisplayName", "graveler")]))
        yield "Contents", content


def _optional(*pairs: tuple[str, str]) -> list[tuple[str, Content]]:
    return [(name, value) for name, value in pairs if value]
