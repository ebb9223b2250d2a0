"""Listed objects as records: which of them are taken, the entries that they become. Columnar, page by page.

An entry names the object by its absolute address. Its checksum is no digest of the content, which nobody has read, but
what the store says of the version at that address: `etag:<etag>@<16 hex digits>`, or `mtime:…` where there is no etag.
An etag tells versions of one object apart, not objects (Azure's and Google's are times and numbers), so the digits,
a digest of the address, are part of it: the same etag at another address is another entry.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from graveler_core.codec.entry import normalise
from graveler_core.engine.importing.request import ImportRequest, Progress, Tally
from graveler_core.engine.importing.sources import SHOWN
from graveler_core.errors import InvalidInput, Kind
from graveler_core.model.entry import AddressType
from graveler_core.model.importing import InvalidKey
from graveler_core.model.names import MAX_PATH_BYTES

PAGE_ROWS = 16_384
"""Objects that are made records at once."""
_BAD_SEGMENT = r"\x00|\\|(?:\A|/)\.{0,2}(?:/|\z)"
_OWN = r"(?:\A|/)_graveler/(?:staging/|[0-9a-f]{64}\z)"
"""What graveler keeps in a storage namespace."""
_WILD = {"**": ".*", "*": "[^/]*", "?": "[^/]"}


def records(
    request: ImportRequest, pages: Iterator[pa.Table], tally: Tally, progress: Progress = lambda more: None
) -> Iterator[pa.Table]:
    """What is taken of a source's pages, as tables in `RECORD_SCHEMA`, sorted each; in order over all if the pages are.

    Once a key was refused, and may not be left out, nothing more is given: the rest is looked at to tell of all.

    Raises:
        InvalidInput: (`NamespaceInUse`) the source holds files of a repository.
    """
    taking = _Taking(request, tally)
    for page in _gathered(pages):
        taken = taking.records(page)
        progress(page.num_rows)
        if taken.num_rows and (request.skip_invalid or not tally.invalid):
            yield taken


def require_valid(request: ImportRequest, tally: Tally) -> None:
    """Refuse an import that met keys which are no valid paths, if they may not be left out."""
    if tally.invalid and not request.skip_invalid:
        first = tally.examples[0]
        raise InvalidInput(
            f"import of {request.source.name}: {tally.invalid:,} keys are no valid paths, the first is {first.key!r}: "
            f"{first.rule}; skip_invalid leaves them out",
            kind=Kind.InvalidPath,
            invalid=list(tally.examples),
            count=tally.invalid,
        )


class _Taking:
    """One import's rules, and what they did so far."""

    def __init__(self, request: ImportRequest, tally: Tally) -> None:
        self._source = request.source
        self._below = request.below
        self._wanted = [_pattern(glob) for glob in request.include]
        self._unwanted = [_pattern(glob) for glob in request.exclude]
        self._tally = tally

    def records(self, page: pa.Table) -> pa.Table:
        """The records of what is taken of a page."""
        page = self._without_markers(page)
        page, texts = self._without_odd(page)
        matched = self._matching(texts)
        self._tally.unmatched += int(np.count_nonzero(~matched))
        wrong = matched & self._wrong(texts)
        self._refuse([texts[int(row)].as_py() for row in np.flatnonzero(wrong)])
        kept = pa.array(matched & ~wrong)
        page, texts = page.filter(kept), texts.filter(kept)
        self._tally.objects += page.num_rows
        self._tally.size += pc.sum(page.column("size"), min_count=0).as_py()
        return self._made(page, texts)

    def _made(self, page: pa.Table, texts: pa.StringArray) -> pa.Table:
        addresses = self._source.addresses(texts)
        return normalise(
            pa.table(
                {
                    "key": pc.binary_join_element_wise(self._below, texts, ""),
                    "address": addresses,
                    "address_type": pa.array(np.full(len(texts), AddressType.FULL, np.int8)),
                    "size": page.column("size"),
                    "checksum": _checksums(page, addresses),
                    "mtime": page.column("mtime"),
                }
            )
        )

    def _without_markers(self, page: pa.Table) -> pa.Table:
        keys = page.column("key")
        named = pc.or_(pc.ends_with(keys, b"/"), pc.equal(pc.binary_length(keys), 0))
        markers = pc.and_(named, pc.equal(page.column("size"), 0))
        count = pc.sum(markers, min_count=0).as_py()
        self._tally.markers += count
        return page.filter(pc.invert(markers)) if count else page

    def _without_odd(self, page: pa.Table) -> tuple[pa.Table, pa.StringArray]:
        """The rows whose keys are UTF-8, and the keys."""
        keys = page.column("key").combine_chunks()
        try:
            return page, keys.cast(pa.string())
        except pa.ArrowInvalid:
            texts = [_decoded(key) for key in keys.to_pylist()]
        odd = [os.fsdecode(key) for key, text in zip(keys.to_pylist(), texts, strict=True) if text is None]
        self._refuse(odd)
        return page.filter(pa.array([text is not None for text in texts])), pa.array(
            [text for text in texts if text is not None], pa.string()
        )

    def _matching(self, texts: pa.StringArray) -> NDArray[np.bool_]:
        every: NDArray[np.bool_] = np.ones(len(texts), np.bool_)
        wanted = _any_matches(texts, self._wanted) if self._wanted else every
        return wanted & ~_any_matches(texts, self._unwanted)

    def _wrong(self, texts: pa.StringArray) -> NDArray[np.bool_]:
        if _any_matches(texts, [_OWN]).any():
            raise InvalidInput(
                f"import of {self._source.name}: holds files of a repository's storage namespace, which another store "
                "knows; objects that a repository manages cannot be imported",
                kind=Kind.NamespaceInUse,
                uri=self._source.name,
            )
        long: NDArray[np.bool_] = pc.binary_length(texts).to_numpy() > MAX_PATH_BYTES - len(self._below.encode())
        return long | _any_matches(texts, [_BAD_SEGMENT])

    def _refuse(self, keys: list[str]) -> None:
        self._tally.invalid += len(keys)
        room = SHOWN - len(self._tally.examples)
        self._tally.examples += tuple(InvalidKey(_shown(key), self._rule(key)) for key in keys[:room])

    def _rule(self, key: str) -> str:
        if _shown(key) != key:
            return "must be valid UTF-8"
        if re.search(_BAD_SEGMENT.replace(r"\z", r"\Z"), key):
            return "must not contain NUL, backslash, or empty, '.' or '..' segments"
        return f"with {self._below!r} before it, must have at most {MAX_PATH_BYTES:,} bytes in UTF-8"


def _gathered(pages: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """The pages of a listing, put together to larger ones."""
    waiting: list[pa.Table] = []
    rows = 0
    for page in pages:
        waiting.append(page)
        rows += page.num_rows
        if rows >= PAGE_ROWS:
            yield pa.concat_tables(waiting)
            waiting, rows = [], 0
    if rows:
        yield pa.concat_tables(waiting)


def _checksums(page: pa.Table, addresses: pa.StringArray) -> pa.StringArray:
    """What tells the version at each address; null where the store says nothing of it."""
    etags, times = page.column("etag"), page.column("mtime").cast(pa.int64()).cast(pa.string())
    versions = pc.coalesce(
        pc.binary_join_element_wise("etag:", etags, ""), pc.binary_join_element_wise("mtime:", times, "")
    )
    places = [
        hashlib.blake2b(address, digest_size=8).hexdigest() for address in addresses.cast(pa.binary()).to_pylist()
    ]
    return pc.binary_join_element_wise(versions.combine_chunks(), pa.array(places, pa.string()), "@")


def _any_matches(texts: pa.StringArray, patterns: list[str]) -> NDArray[np.bool_]:
    nothing: NDArray[np.bool_] = np.zeros(len(texts), np.bool_)
    found = (pc.match_substring_regex(texts, pattern).to_numpy(zero_copy_only=False) for pattern in patterns)
    return reduce(np.logical_or, found, nothing)


def _pattern(glob: str) -> str:
    if not isinstance(glob, str) or not glob:
        raise InvalidInput(f"glob {glob!r}: must be text that is not empty")
    parts = re.split(r"(\*\*|\*|\?)", glob)
    return "(?s)\\A" + "".join(_WILD.get(part, re.escape(part)) for part in parts) + "\\z"


def _decoded(key: bytes) -> str | None:
    try:
        return key.decode()
    except UnicodeDecodeError:
        return None


def _shown(key: str) -> str:
    """The key as it can be shown and sent anywhere."""
    return key.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
