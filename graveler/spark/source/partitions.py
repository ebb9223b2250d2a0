"""Partition columns from paths, as Spark's own readers interpret directories: `year=2013/month=01/part-0.orc`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from urllib.parse import unquote

import pyarrow as pa

from graveler_core.errors import InvalidInput, Kind

_NULL = "__HIVE_DEFAULT_PARTITION__"
_INT, _LONG = 1 << 31, 1 << 63


def partition_table(paths: Sequence[str], *, inferred: bool) -> pa.Table:
    """Return the values of the partition columns, one row per path; no columns if the paths have none.

    Args:
        paths: Paths of files, relative to the directory of the table.
        inferred: Recognize whole numbers and dates. If `False`, all columns are strings.

    Raises:
        InvalidInput: Files have different partition columns.
    """
    known = {directory: _columns(directory) for directory in {path.rpartition("/")[0] for path in paths}}
    names = {tuple(name for name, _ in columns) for columns in known.values()}
    if len(names) > 1:
        one, other = sorted(names)[:2]
        raise InvalidInput(
            f"files differ in their partition columns: some have {_shown(one)}, others {_shown(other)}",
            kind=Kind.InvalidPath,
        )
    arrays = {}
    for n, name in enumerate(names.pop() if names else ()):
        texts = [known[path.rpartition("/")[0]][n][1] for path in paths]
        arrays[name] = _typed(texts) if inferred else pa.array(texts, pa.string())
    return pa.table(arrays)


def _columns(directory: str) -> list[tuple[str, str | None]]:
    pairs = [segment.partition("=") for segment in directory.split("/")]
    return [(unquote(name), None if value == _NULL else unquote(value)) for name, sign, value in pairs if name and sign]


def _typed(texts: Sequence[str | None]) -> pa.Array:
    given = {text for text in texts if text is not None}
    if given and all(text.removeprefix("-").isascii() and text.removeprefix("-").isdigit() for text in given):
        most = max(abs(int(text)) for text in given)
        if most < _LONG:
            whole = [None if text is None else int(text) for text in texts]
            return pa.array(whole, pa.int32() if most < _INT else pa.int64())
    if given and all(map(_is_date, given)):
        return pa.array([None if text is None else date.fromisoformat(text) for text in texts])
    return pa.array(texts, pa.string())


def _is_date(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _shown(names: Sequence[str]) -> str:
    return ", ".join(names) if names else "none"
