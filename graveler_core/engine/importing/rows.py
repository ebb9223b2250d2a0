"""Conversion of listed objects to records: selection of objects, and their entries. Columnar, page by page.

An entry refers to the object by its absolute address. Its checksum is not a digest of the content, which is not
read. It is the store's description of the version at that address: `etag:<etag>@<16 hex digits>`, or `mtime:…` if
there is no etag. An etag distinguishes versions of one object and not different objects (the etags of Azure and
Google are times and numbers). Therefore the digits, which are a digest of the address, are part of the checksum: the
same etag at another address is another entry.
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
from graveler_core.model.counting import counted
from graveler_core.model.entry import AddressType
from graveler_core.model.importing import InvalidKey
from graveler_core.model.names import MAX_PATH_BYTES, PATH_RULE, REFUSED_PATH

PAGE_ROWS = 16_384
"""Number of objects that are converted at once."""
_OWN = r"(?:\A|/)_graveler/(?:staging/|[0-9a-f]{64}\z)"
"""Pattern of the files that graveler keeps in a storage namespace."""
_MARKER = r"/\z"
"""Pattern of the keys that end in a slash. Object stores cannot be asked for them."""
_WILD = {"**": ".*", "*": "[^/]*", "?": "[^/]"}


def records(
    request: ImportRequest, pages: Iterator[pa.Table], tally: Tally, progress: Progress = lambda more: None
) -> Iterator[pa.Table]:
    """Yield the records of the selected objects, as sorted tables in `RECORD_SCHEMA`. They are in order overall if the
    pages are.

    After a key was refused that must not be skipped, no more records are yielded. The rest is only checked, to
    report all invalid keys.

    Raises:
        InvalidInput: The source contains files of a repository (`NamespaceInUse`).
    """
    taking = _Taking(request, tally)
    for page in _gathered(pages):
        taken = taking.records(page)
        progress(page.num_rows)
        if taken.num_rows and (request.skip_invalid or not tally.invalid):
            yield taken


def require_valid(request: ImportRequest, tally: Tally) -> None:
    """Refuse an import with keys that are not valid paths, unless they may be skipped."""
    if tally.invalid and not request.skip_invalid:
        first = tally.examples[0]
        raise InvalidInput(
            f"import of {request.source.name}: "
            f"{counted(tally.invalid, 'key is no valid path', 'keys are no valid paths')}, "
            f"the first is {first.key!r}: {first.rule}; --skip-invalid (skip_invalid=True) leaves out such keys",
            kind=Kind.InvalidPath,
            invalid=list(tally.examples),
            count=tally.invalid,
        )


class _Taking:
    """Rules of one import, and their counts so far."""

    def __init__(self, request: ImportRequest, tally: Tally) -> None:
        self._source = request.source
        self._below = request.below
        self._wanted = [_pattern(glob) for glob in request.include]
        self._unwanted = [_pattern(glob) for glob in request.exclude]
        self._tally = tally

    def records(self, page: pa.Table) -> pa.Table:
        """Return the records of the selected objects of a page."""
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
        """Return the rows whose keys are UTF-8, and the keys."""
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
        return long | _any_matches(texts, [REFUSED_PATH, _MARKER])

    def _refuse(self, keys: list[str]) -> None:
        self._tally.invalid += len(keys)
        room = SHOWN - len(self._tally.examples)
        self._tally.examples += tuple(InvalidKey(_shown(key), self._rule(key)) for key in keys[:room])

    def _rule(self, key: str) -> str:
        if _shown(key) != key:
            return "must be valid UTF-8"
        if re.search(REFUSED_PATH, key) or key.endswith("/"):
            return PATH_RULE
        return f"with {self._below!r} before it, must have at most {MAX_PATH_BYTES:,} bytes in UTF-8"


def _gathered(pages: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """Combine the pages of a listing into larger ones."""
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
    """Return the checksum of the version at each address; null if the store does not describe it."""
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
        raise InvalidInput(f"glob {glob!r}: must be non-empty text")
    parts = re.split(r"(\*\*|\*|\?)", glob)
    return "(?s)\\A" + "".join(_WILD.get(part, re.escape(part)) for part in parts) + "\\z"


def _decoded(key: bytes) -> str | None:
    try:
        return key.decode()
    except UnicodeDecodeError:
        return None


def _shown(key: str) -> str:
    """Return the key in a form that can be displayed and sent."""
    return key.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
