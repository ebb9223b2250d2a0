"""Headers of Nessie's commits, and the committer and metadata of graveler's.

A header may have several values, but metadata have one text for each key. The first value becomes the text, and `MANY`
lists all values of headers with several. Nessie also keeps the date of a commit as a header, which is left out if it is
the same time.

The header `committer` is the committer of a commit. Commits of graveler may have a metadata key of the same name, too.
An export writes its value as the header `OWN_COMMITTER`, from which an import restores it. Several values of the header
`committer` come from Nessie: the first one is the committer, and all of them are in the metadata.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from graveler_core.model.migration import ORIGIN
from graveler_core.transfer.broken_values import BrokenValueError

MANY = "nessie.headers"
"""Metadata key of the headers with several values, as a JSON object."""
MISSING = "nessie.missing-parents"
"""Metadata key of merged commits that an export lacks, separated by spaces."""
OWN_COMMITTER = "graveler.metadata.committer"
"""Header of an export with the value of the metadata key `committer`, which is not the committer of the commit."""
_COMMITTER, _TIME = "committer", "date"
_RESERVED = (ORIGIN, MANY, MISSING, OWN_COMMITTER)
"""Metadata keys that are not exported as headers of the same name."""
_SINGLE = {"committer": "committer", "commitTime": "date", "authorTime": "author-date"}
_SEVERAL = {
    "author": "author",
    "authors": "author",
    "signedOffBy": "signed-off-by",
    "allSignedOffBy": "signed-off-by",
}
Headers = dict[str, list[str]]


def instant(moment: datetime) -> str:
    """Return a time as Nessie writes it: ISO 8601 in UTC, with 0, 3 or 6 digits of a second."""
    micros = moment.microsecond
    spec = "microseconds" if micros % 1_000 else "milliseconds" if micros else "seconds"
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec=spec) + "Z"


def headers_of_metadata(data: bytes) -> tuple[str, Headers]:
    """Return message and headers of a commit of version 1, whose metadata is a JSON object.

    Raises:
        BrokenValueError: The metadata is not such an object.
    """
    try:
        said = json.loads(data)
        found = Headers()
        for name, values in {**_lists(said.get("properties")), **_lists(said.get("allProperties"))}.items():
            found[name] = values
        for field, name in (*_SINGLE.items(), *_SEVERAL.items()):
            values = _list(said.get(field))
            if values:
                found[name] = values
        message = said.get("message") or ""
        if not all(isinstance(text, str) for text in (message, *(text for each in found.values() for text in each))):
            raise BrokenValueError("its metadata has values that are not texts")
    except (ValueError, AttributeError, TypeError, RecursionError) as e:
        raise BrokenValueError(f"its metadata is not a JSON object of Nessie ({e})") from e
    return message, found


def metadata_of(headers: Mapping[str, Sequence[str]], date: datetime) -> tuple[str, dict[str, str]]:
    """Return committer and metadata of a commit.

    Args:
        headers: Its headers.
        date: Its time.

    Raises:
        BrokenValueError: A header has a name that graveler uses.
    """
    kept = {name: list(values) for name, values in headers.items() if values}
    if kept.keys() & {ORIGIN, MANY, MISSING}:
        raise BrokenValueError(f"a header has one of the names {ORIGIN}, {MANY}, {MISSING}, which are reserved")
    committer = kept.get(_COMMITTER, [""])
    if len(committer) == 1:
        kept.pop(_COMMITTER, None)
    if OWN_COMMITTER in kept:
        if _COMMITTER in kept:
            raise BrokenValueError(f"header {OWN_COMMITTER} is reserved, but there are several committers")
        kept[_COMMITTER] = kept.pop(OWN_COMMITTER)
    if kept.get(_TIME) == [instant(date)]:
        del kept[_TIME]
    metadata = {name: values[0] for name, values in kept.items()}
    many = {name: values for name, values in kept.items() if len(values) > 1}
    if many:
        metadata[MANY] = json.dumps(many, ensure_ascii=False, sort_keys=True)
    return committer[0], metadata


def headers_of(committer: str, metadata: Mapping[str, str], date: datetime) -> Headers:
    """Return the headers of an exported commit, in the order of their names."""
    found = {name: [text] for name, text in metadata.items() if name not in _RESERVED}
    for name, values in _many(metadata.get(MANY)).items():
        if found.get(name) == values[:1]:
            found[name] = values
    named = found.pop(_COMMITTER, [])
    if committer:
        found[_COMMITTER] = [committer]
    if len(named) > 1 and named[0] == committer:
        found[_COMMITTER] = named
    elif named:
        found[OWN_COMMITTER] = named
    found.setdefault(_TIME, [instant(date)])
    return dict(sorted(found.items()))


def _many(text: str | None) -> Headers:
    """Return the headers with several values. Users may have changed the metadata."""
    try:
        said = {} if text is None else json.loads(text)
        return {name: values for name, values in said.items() if values and all(isinstance(v, str) for v in values)}
    except (ValueError, AttributeError, TypeError, RecursionError):
        return {}


def _list(value: Any) -> list[Any]:
    return [] if value is None else value if isinstance(value, list) else [value]


def _lists(said: Any) -> Headers:
    return {name: _list(value) for name, value in (said or {}).items()}
