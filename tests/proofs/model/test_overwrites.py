"""All interleavings of an overwrite with others, on a model of a page: what `engine.committing.basis` asks, and why.

An overwrite lists the head, then swaps in one file in the place of what it saw. Meanwhile others put a file and commit
it (seal, advance), compact, or transact. A driver that is killed stops anywhere: that is every prefix of an
interleaving, and the promises are judged at each swap. Rules that are left out break a promise, each in another way.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field, replace

import pytest

Files = frozenset[str]
Steps = Generator[None, None, None]


@dataclass(frozen=True)
class Record:
    """A branch record: files at the head and in the compacted tree, and the tokens whose records lie above, newest
    first. Each swap makes a new one, equal to none before."""

    head: Files = frozenset({"old"})
    tokens: tuple[int, ...] = (0,)
    compacted: Files | None = None
    swap: int = 0


@dataclass
class World:
    """What is stored, what was promised, and which rules hold."""

    rules: frozenset[str]
    record: Record = Record()
    data: dict[int, set[str]] = field(default_factory=lambda: {0: set()})
    acknowledged: set[str] = field(default_factory=set)
    committed: set[str] = field(default_factory=lambda: {"old"})
    broken: list[str] = field(default_factory=list)

    def swap(self, old: Record, **changed: object) -> bool:
        if self.record is not old:
            return False
        self.record = replace(old, **changed, swap=old.swap + 1)  # type: ignore[arg-type]
        self.committed |= self.record.head
        return True

    def staged(self) -> set[str]:
        layers = set[str]().union(*(self.data[token] for token in self.record.tokens))
        return layers | ((self.record.compacted or self.record.head) - self.record.head)


def overwrite(w: World, name: str = "new") -> Steps:
    """As `graveler.spark.source.publishing`, with the rules that it is given."""
    before = set(w.acknowledged)
    while True:
        plan = w.record.head
        yield
        for _ in range(3):
            used = w.record
            yield
            if "head" in w.rules and used.head != plan:
                break
            staged = (used.compacted or used.head) - used.head if "compacted" in w.rules else set()
            for token in used.tokens if "layers" in w.rules else ():
                staged |= w.data[token]
                yield
            if staged:
                if w.record is used:
                    return
                continue
            trees = {"head": used.head - plan | {name}, "compacted": used.compacted and used.compacted - plan | {name}}
            fresh = used.swap + 100
            if w.swap(used, tokens=(fresh,) if "theirs is thrown away" in w.rules else used.tokens, **trees):
                w.data.setdefault(fresh, set())
                _judge(w, name, before)
                return


def _judge(w: World, name: str, before: set[str]) -> None:
    if w.record.head != {name}:
        w.broken.append(f"the head holds {set(w.record.head)}")
    if lost := w.acknowledged - w.committed - w.staged():
        w.broken.append(f"{lost} was acknowledged, and is neither committed nor staged")
    if shown := (w.staged() & before) - w.record.head:
        w.broken.append(f"{shown} was there before the overwrite began, and shows through")


def put(w: World, name: str) -> Steps:
    """As `engine.staging.write`: the staging token, then the closing re-read."""
    used = w.record
    while True:
        yield
        w.data[used.tokens[0]].add(name)
        yield
        if w.record.tokens[0] == used.tokens[0]:
            w.acknowledged.add(name)
            return
        used = w.record


def commit(w: World, *, compaction: bool = False) -> Steps:
    """Seal, scan, advance by a swap from the very record; else again."""
    while True:
        yield
        used, fresh = w.record, w.record.swap + 1_000
        w.data[fresh] = set()
        if not w.swap(used, tokens=(fresh, *used.tokens)):
            continue
        sealed = w.record
        yield
        tree = (sealed.compacted or sealed.head).union(*(w.data[token] for token in sealed.tokens[1:]))
        yield
        moved = {"compacted": tree} if compaction else {"head": tree, "compacted": None}
        if w.swap(sealed, tokens=sealed.tokens[:1], **moved):
            return


def put_and_commit(w: World) -> Steps:
    yield from put(w, "theirs")
    yield from commit(w)


def put_and_compact(w: World) -> Steps:
    yield from put(w, "theirs")
    yield from commit(w, compaction=True)


def transact(w: World) -> Steps:
    """A commit of another's file that stages nothing: a merge, an append."""
    while True:
        yield
        used = w.record
        yield
        both = {"head": used.head | {"theirs"}, "compacted": used.compacted and used.compacted | {"theirs"}}
        if w.swap(used, **both):
            return


Other = Callable[[World], Steps]
OTHERS: list[tuple[Other, ...]] = [
    (put_and_commit,),
    (put_and_compact,),
    (lambda w: put(w, "theirs"), transact),
    (lambda w: put(w, "theirs"), lambda w: commit(w, compaction=True)),
    (lambda w: overwrite(w, "newer"), lambda w: put(w, "theirs")),
]
ALL = frozenset({"head", "layers", "compacted"})


def histories(rules: frozenset[str], others: tuple[Other, ...]) -> Iterator[list[str]]:
    """What is broken in each interleaving; one that does not end within some steps is cut off, as by a kill."""
    choices: list[int] = []
    while True:
        w, taken = World(rules), list[tuple[int, int]]()
        running = [overwrite(w), *(other(w) for other in others)]
        while running and len(taken) < 13:
            chosen = choices[len(taken)] if len(taken) < len(choices) else 0
            taken.append((chosen, len(running)))
            if next(running[chosen], running) is running:
                del running[chosen]
        yield w.broken
        while taken and taken[-1][0] + 1 == taken[-1][1]:
            taken.pop()
        if not taken:
            return
        choices = [chosen for chosen, _ in taken]
        choices[-1] += 1


def broken(rules: frozenset[str], others: tuple[Other, ...]) -> set[str]:
    return {what for found in histories(rules, others) for what in found}


@pytest.mark.parametrize("others", OTHERS)
def test_an_overwrite_keeps_the_promises(others: tuple[Other, ...]) -> None:
    assert not broken(ALL, others)


@pytest.mark.parametrize(
    ("rules", "others", "what"),
    [
        (ALL - {"head"}, OTHERS[0], "the head holds"),
        (ALL - {"head"}, OTHERS[2], "the head holds"),
        (ALL - {"head"}, OTHERS[4], "the head holds"),
        (ALL - {"layers"}, OTHERS[2], "shows through"),
        (ALL - {"compacted"}, OTHERS[1], "shows through"),
        (ALL - {"layers"} | {"theirs is thrown away"}, OTHERS[2], "neither committed nor staged"),
    ],
)
def test_a_rule_that_is_left_out_breaks_one(rules: frozenset[str], others: tuple[Other, ...], what: str) -> None:
    assert any(what in each for each in broken(rules, others))
