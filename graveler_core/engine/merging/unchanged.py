"""Check that the destination of a merge has not changed below some prefixes since the merge base.

A merge compares paths one by one. Two branches that replace the same directory with files of fresh names change
different paths, so both merges would succeed, and the directory would hold the files of both. A merge that replaces a
directory therefore depends on paths that it does not change.

The check compares the merge base with the head in the branch record from which the merge swaps. A successful swap
proves that the head was still the same. The content is compared by identity, as the merge does it: a path that was
changed and changed back is unchanged. Only the keys below the prefixes are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from graveler_core.committed.diff import KEYS, Differences
from graveler_core.committed.index.diff import diff
from graveler_core.engine.merging.sides import Sides, nothing
from graveler_core.engine.reading import snapshot
from graveler_core.errors import Conflict, Kind
from graveler_core.model.key_intervals import prefix_end
from graveler_core.model.names import prefix_key
from graveler_core.stores import Registers, Stores

_LISTED = 10
"""Maximum number of changed paths in an error, for each prefix."""


def require_unchanged(stores: Stores, registers: Registers, sides: Sides, prefixes: Sequence[str]) -> None:
    """Raise an error if the destination differs from the merge base below a prefix.

    Without a merge base the destination must have nothing below the prefixes.

    Raises:
        Conflict: The content below some prefixes has changed (`PrefixChanged`). `details["prefixes"]` has these
            prefixes, `details["paths"]` the first ten changed paths of each, `expected` the id of the merge base
            (`None` without one) and `actual` the head.
    """
    found = {prefix: _changed(stores, registers, sides, prefix) for prefix in prefixes}
    paths = {prefix: changed for prefix, changed in found.items() if changed}
    if not paths:
        return
    base, head, branch = sides.base, sides.ours.id, registers.branch.id
    since = "the empty state, because there is no merge base" if base is None else f"the merge base {base.id[:12]}"
    first = [path for changed in paths.values() for path in changed][:_LISTED]
    raise Conflict(
        f"merge: another commit changed {_quoted(paths)} on branch {branch!r} since {since}: the head {head[:12]} "
        f"differs at {_quoted(first)}; nothing was merged; repeat the work on a new branch from {branch!r}",
        kind=Kind.PrefixChanged,
        prefixes=[*paths],
        paths=paths,
        expected=None if base is None else base.id,
        actual=head,
    )


def _quoted(texts: Iterable[str]) -> str:
    return ", ".join(map(repr, texts))


def _changed(stores: Stores, registers: Registers, sides: Sides, prefix: str) -> list[str]:
    """Return the first paths below a prefix at which the destination differs from the merge base."""
    pages = _differences(stores, registers, sides, prefix_key(prefix))
    keys = (key for page in pages for key in page.keys.slice(0, _LISTED).to_pylist())
    return [key.decode() for key in islice(keys, _LISTED)]


def _differences(stores: Stores, registers: Registers, sides: Sides, start: bytes) -> Iterator[Differences]:
    repo, ours, end = registers.repository, sides.ours, prefix_end(start)
    if sides.base is None:
        return diff(stores.indexes(repo), nothing(stores, repo), ours.layout.index, start=start, end=end, wanted=KEYS)
    return snapshot.diff(stores, repo, (sides.base.id, ours.id), (start, end), KEYS)
