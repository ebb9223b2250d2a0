"""Judge of what processes beyond a failing network were told: compares their journals with the content of the store.

It adds to `judge` the rules for transactions, merges, branches, swaps of single rows, and the duration of calls.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from graveler_core.facade.repository import Repository
from graveler_core.kv.store import Store
from graveler_core.objects.commits import StoredCommit
from tests.proofs.processes.journal import NEVER, Operation
from tests.proofs.processes.judge import Largest, checksums
from tests.proofs.processes.network_actor import GROUP, GROUPS, PARTITION

_TIMES = {"done": (1,), "refused": (0,)}
"""Number of effects by outcome. After an unknown outcome there may be none or one."""


class NetworkJudge:
    """All journals of a run."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        self.operations = operations

    def of(self, *verbs: str) -> list[Operation]:
        """The operations with these verbs."""
        return [operation for operation in self.operations if operation.verb in verbs]

    def tally(self) -> Counter[str]:
        """Number of operations by verb and outcome."""
        return Counter(f"{operation.verb} {operation.outcome}" for operation in self.operations)

    def changes(self, verb: str, repository: Repository, chain: Sequence[StoredCommit]) -> Iterator[str]:
        """An acknowledged transaction or merge is one commit of its branch, after those that it followed; a refused one
        is none; and no commit shows a part of one.
        """
        times = Counter(commit.header.message for commit in chain)
        height = {str(commit.id): commit.header.generation for commit in chain}
        contents = {str(commit.id): checksums(repository, commit.id) for commit in chain}
        done = [operation for operation in self.of(verb) if operation.outcome == "done"]
        yield from (f"{operation} is not in the branch" for operation in done if operation.answer not in height)
        before = Largest((operation.ended, height.get(str(operation.answer), 0)) for operation in done)
        for operation in self.of(verb):
            path, value = next(iter(operation.values.items()))
            if times[str(value)] not in _TIMES.get(operation.outcome, (0, 1)):
                yield f"{operation} is there {times[str(value)]} times"
            if operation.outcome == "done" and contents.get(str(operation.answer), {}).get(path) != value:
                yield f"{operation} is a commit without its content"
            if operation.outcome == "done" and height.get(str(operation.answer), NEVER) <= before.below(
                operation.began
            ):
                yield f"{operation} stands before a commit that it followed"
        for commit, held in contents.items():
            yield from (f"{commit}: {group}" for group in torn(held))

    def torn_listings(self) -> Iterator[str]:
        """Listings that show a part of a transaction."""
        for read in self.of("list"):
            if read.outcome == "done" and read.answer in GROUPS:
                yield from (f"{read}: {group}" for group in torn(read.values))

    def branches(self, standing: set[str]) -> Iterator[str]:
        """Branches that are there or not, against what their makers were told."""
        made = {operation.values["name"]: operation.outcome for operation in self.of("create")}
        gone = {operation.values["name"]: operation.outcome for operation in self.of("delete")}
        for name, created in made.items():
            deleted = gone.get(name)
            if created == "done" and deleted == "absent":
                yield f"{name} was created and could not be deleted"
            if created == "done" and deleted in (None, "refused") and name not in standing:
                yield f"{name} was created and is not there"
            if (created == "refused" or deleted == "done") and name in standing:
                yield f"{name} is there and was {'refused' if created == 'refused' else 'deleted'}"

    def swaps(self, store: Store) -> Iterator[str]:
        """An acknowledged swap is in a row once, a refused one is in none, and no mark was lost from a full row."""
        rows = {int(row.key): row.value.decode().split() for row in store.scan(PARTITION)}
        times = Counter(mark for marks in rows.values() for mark in marks)
        for operation in self.of("swap"):
            mark = str(operation.values["mark"])
            if times[mark] not in _TIMES.get(operation.outcome, (0, 1)):
                yield f"{operation} is there {times[mark]} times"
            if operation.outcome == "done" and mark not in rows.get(int(operation.answer or -1), []):
                yield f"{operation} is not in its row"

    def slow(self, bounds: Mapping[str, float]) -> Iterator[str]:
        """Calls that took longer than allowed.

        Args:
            bounds: Seconds by verb. The verb "" stands for all others.
        """
        for operation in self.operations:
            bound = bounds.get(operation.verb, bounds[""])
            if operation.ended != NEVER and (operation.ended - operation.began) / 1e9 > bound:
                yield f"{operation} took longer than {bound} s"

    def longest(self) -> dict[str, float]:
        """Seconds of the longest call by verb."""
        longest: dict[str, float] = defaultdict(float)
        for operation in self.operations:
            if operation.ended != NEVER:
                longest[operation.verb] = max(longest[operation.verb], (operation.ended - operation.began) / 1e9)
        return {verb: round(seconds, 1) for verb, seconds in longest.items()}


def torn(held: Mapping[str, str | None]) -> Iterator[str]:
    """The groups of paths of which some have another value than the others, or none."""
    groups: dict[str, list[str | None]] = defaultdict(list)
    for path, value in held.items():
        if path.startswith(GROUPS):
            groups[path.rpartition("/")[0]].append(value)
    yield from (f"{group} holds {values}" for group, values in groups.items() if values != values[:1] * GROUP)
