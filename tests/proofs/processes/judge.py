"""Judge that compares the journals with the content of the stores.

A write A *surely replaces* a write B of the same path if A was acknowledged and began after B had ended. What a path
shows must be of some write that had begun by then, and that no write surely replaces which was acknowledged before the
look began. (Two writes that never waited for each other may be seen in either order: staged writes are not
linearizable. A write without an end may come at any time.) What an error said did not happen must never be seen.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, permutations

from graveler_core.facade.repository import Repository
from graveler_core.objects.commits import StoredCommit
from tests.proofs.processes.journal import NEVER, Operation

_WRITES = frozenset(("stage", "put", "remove", "bulk", "transact"))


@dataclass(frozen=True, slots=True)
class Look:
    """Who looked, and when."""

    what: str
    began: int
    ended: int = NEVER


class Largest:
    """The largest second number among the pairs whose first one is below a bound."""

    def __init__(self, pairs: Iterable[tuple[int, int]]) -> None:
        ordered = sorted(pairs)
        self._firsts = [first for first, _ in ordered]
        self._largest = list(accumulate((second for _, second in ordered), max))

    def below(self, bound: int) -> int:
        """-1 where there is none."""
        place = bisect_left(self._firsts, bound)
        return self._largest[place - 1] if place else -1


class Path:
    """The writes of one path, ordered so that one look is judged without going through all of them."""

    def __init__(self, path: str, writes: Sequence[Operation]) -> None:
        self._acknowledged = Largest((w.ended, w.began) for w in writes if w.outcome == "done")
        sources: dict[str | None, list[tuple[int, int]]] = {None: [(-1, -1)]}
        for write in writes:
            if write.outcome != "refused":
                sources.setdefault(write.values[path], []).append((write.began, write.ended))
        self._sources = {value: Largest(times) for value, times in sources.items()}

    def may_show(self, value: str | None, look: Look) -> bool:
        """Whether a write that is not surely replaced gives this value."""
        source = self._sources.get(value)
        return source is not None and source.below(look.ended) >= self._acknowledged.below(look.began)


class Judge:
    """All journals of a run."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        self.operations = operations
        writes: dict[str, list[Operation]] = defaultdict(list)
        for operation in operations:
            if operation.verb in _WRITES:
                for path in operation.values:
                    writes[path].append(operation)
        self.paths = {path: Path(path, of_path) for path, of_path in writes.items()}
        first: dict[str | None, int] = {}
        for operation in operations:
            if operation.verb == "commit":
                key = operation.values["key"]
                first[key] = min(operation.began, first.get(key, NEVER))
        self._first_began = first
        """Of a commit's key: a later life that repeats the call gives what the earlier one made."""

    def reads(self) -> Iterator[str]:
        """Promises 1 and 2: what the readers saw."""
        for read in self.operations:
            if read.outcome != "done" or read.verb not in ("get", "list"):
                continue
            assert read.answer is not None
            asked = [read.answer]
            if read.verb == "list":
                asked = [path for path in self.paths if path.startswith(read.answer)]
            look = Look(f"{read.actor}'s {read.verb}", read.began, read.ended)
            for path in asked:
                yield from self.shown(path, read.values.get(path), look)

    def shown(self, path: str, value: str | None, look: Look) -> Iterator[str]:
        """Whether a path may show a value in a look."""
        known = self.paths.get(path)
        if not (value is None if known is None else known.may_show(value, look)):
            yield f"{look} shows {value} at {path}"

    def content(self, repository: Repository, ref: str, look: Look) -> Iterator[str]:
        """Whether a branch or commit may hold what it holds."""
        held = checksums(repository, ref)
        for path in held.keys() | self.paths.keys():
            yield from self.shown(path, held.get(path), look)

    def trees(self, repository: Repository, chain: Sequence[StoredCommit]) -> Iterator[str]:
        """Promise 3: a commit holds every write that was acknowledged before it began, or a later one."""
        known = {commit.id for commit in chain}
        for operation, commit in self._answered():
            if commit not in known:
                yield f"{operation} was acknowledged and is not in the branch"
                continue
            began = self._first_began[operation.values["key"]]
            yield from self.content(repository, commit, Look(f"{operation.actor}'s commit", began, operation.ended))

    def commits(self, chain: Sequence[StoredCommit]) -> Iterator[str]:
        """No commit is there twice, none that was refused, and what was made one after the other stands so."""
        keys = Counter(commit.header.message for commit in chain)
        layers = Counter(layer for commit in chain for layer in commit.header.consumed)
        yield from (f"commit {key} is there {times} times" for key, times in keys.items() if times > 1)
        yield from (f"layer {layer} was committed {times} times" for layer, times in layers.items() if times > 1)
        refused = [o for o in self.operations if o.verb == "commit" and o.outcome == "refused" and self._is_first(o)]
        yield from (f"{o} was refused and is there" for o in refused if keys[str(o.values["key"])])
        height = {str(commit.id): commit.header.generation for commit in chain}
        done = [(o, height[id]) for o, id in self._answered() if o.outcome == "done" and id in height]
        for (earlier, low), (later, high) in permutations(done, 2):
            if earlier.ended < self._first_began[later.values["key"]] and low >= high:
                yield f"{later} was made after {earlier} and does not stand after it"

    def _is_first(self, commit: Operation) -> bool:
        """Whether no call before it may have made it: a call is repeated only if nobody knows how it ended."""
        return commit.began == self._first_began[commit.values["key"]]

    def _answered(self) -> list[tuple[Operation, str]]:
        """The commits that were told which commit they are in, and which one that is."""
        ended = [o for o in self.operations if o.verb == "commit" and o.outcome in ("done", "absorbed")]
        return [(o, o.answer) for o in ended if o.answer is not None]


def checksums(repository: Repository, ref: str) -> dict[str, str]:
    """What a ref holds, by path."""
    found: dict[str, str] = {}
    for batch in repository.at(ref).to_arrow():
        found |= dict(zip(batch["key"].cast("string").to_pylist(), batch["checksum"].to_pylist(), strict=True))
    return found
