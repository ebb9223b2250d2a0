"""Interleavings of an erasure with others, on a model of a page: the rules of `graveler_core.erasure.flow`, and why.

One branch has the path "p" with the content "a". An erasure of "p" runs while others stage "a" at the path "q" by its
address (one record with the closing re-read, or a layer with a swap), put new content at "p", commit, or erase the same
path. A killed erasure stops anywhere, and another call goes on. The promises are judged when all have ended. Each rule
that is left out breaks a promise.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field, replace
from itertools import count

import pytest

Names = frozenset[tuple[str, str]]
Steps = Generator[None, None, None]
ALL = frozenset({"marks", "joins", "own round", "repository", "branches", "again", "puts check"})
TRIES = 5


@dataclass(frozen=True)
class Branch:
    """A branch record. Each swap makes a new one, equal to none before."""

    head: Names = frozenset({("p", "a")})
    tokens: tuple[int, ...] = (0,)
    """Newest first. The first is the staging token."""
    swap: int = 0


@dataclass
class World:
    """What is stored, what was acknowledged, and which rules hold."""

    rules: frozenset[str]
    branch: Branch = Branch()
    data: dict[int, dict[str, str | None]] = field(default_factory=lambda: {0: {}})
    fresh: Iterator[int] = field(default_factory=lambda: count(1))
    history: set[tuple[str, str]] = field(default_factory=lambda: {("p", "a")})
    objects: set[str] = field(default_factory=lambda: {"a"})
    repository: int = 0
    """Version of the repository record."""
    state: str = ""
    version: int = 0
    """Version of the record of the erasure."""
    rounds: frozenset[int] = frozenset()
    """Rounds of marks that the record of the erasure lists."""
    marks: dict[str, set[int]] = field(default_factory=dict)
    """Rounds that have marked an address. A mark counts if one of them is listed."""
    acknowledged: set[tuple[str, str]] = field(default_factory=set)
    sent: set[tuple[str, str]] = field(default_factory=set)

    def swap(self, old: Branch, **changed: object) -> bool:
        if self.branch is not old:
            return False
        self.branch = replace(old, **changed, swap=old.swap + 1)  # type: ignore[arg-type]
        self.history |= self.branch.head
        return True

    def enter(self, old: int, state: str, rounds: frozenset[int] = frozenset()) -> bool:
        if self.version != old:
            return False
        self.state, self.version, self.rounds = state, old + 1, self.rounds | rounds
        return True

    @property
    def erased(self) -> set[str]:
        return {address for address, numbers in self.marks.items() if numbers & self.rounds}

    def token(self, **data: str | None) -> int:
        number = next(self.fresh)
        self.data[number] = dict(data)
        return number

    def staged(self, used: Branch) -> dict[str, str | None]:
        return {path: found for token in reversed(used.tokens) for path, found in self.data[token].items()}

    def shown(self, used: Branch) -> dict[str, str]:
        both: dict[str, str | None] = {**dict(used.head), **self.staged(used)}
        return {path: address for path, address in both.items() if address is not None}

    def names(self) -> set[tuple[str, str]]:
        staged = {pair for token in self.branch.tokens for pair in self.data[token].items()}
        return self.history | {(path, address) for path, address in staged if address is not None}

    def refused(self, address: str) -> bool:
        return address in self.erased and self.state not in ("", "withdrawn")


def erase(w: World) -> Steps:  # noqa: PLR0912 - the protocol on one page
    """As `graveler_core.erasure.flow`, with the rules that it is given."""
    found = w.names()
    yield
    if not w.state:
        if any(path != "p" and address == "a" for path, address in found):
            return
        w.enter(w.version, "erasing")
        yield
    for _ in range(TRIES):
        if w.state != "erasing":
            break
        version, number = w.version, next(w.fresh)
        new = {address for path, address in found if path == "p"} - w.erased
        listed = {number}
        for address in sorted(new) if "marks" in w.rules else ():
            others = w.marks.setdefault(address, set())
            if "own round" not in w.rules:
                listed |= others
            if "joins" in w.rules or not others:
                others.add(number)
            yield
        if not w.enter(version, "erasing", frozenset(listed)):
            continue
        version = w.version
        yield
        if "repository" in w.rules:
            w.repository += 1
            yield
        yield from _without_paths(w)
        found = w.names()
        yield
        known = w.erased if "marks" in w.rules else {"a"}
        if any(path != "p" and address in known for path, address in found):
            w.enter(version, "withdrawn")
        elif "again" not in w.rules or not {address for path, address in found if path == "p"} - known:
            w.enter(version, "deleting")
        yield
    if w.state == "deleting":
        if "marks" not in w.rules:
            w.marks, w.rounds = {"a": {0}}, frozenset({0})
        for address in sorted(w.erased):
            w.objects.discard(address)
            yield
        if w.state == "deleting":
            w.enter(w.version, "done")


def _without_paths(w: World) -> Steps:
    """Have the branch lose the path, and change its record in any case."""
    for _ in range(TRIES):
        used = w.branch
        if "p" in w.shown(used) and w.shown(used)["p"] != dict(used.head).get("p"):
            yield
            w.swap(used, tokens=(w.token(), w.token(p=None), *used.tokens))
        elif "p" in dict(used.head):
            yield
            w.swap(used, head=used.head - {name for name in used.head if name[0] == "p"})
        else:
            yield
            if "branches" not in w.rules or w.swap(used):
                return


def stage(w: World, address: str = "a") -> Steps:
    """One record, then the closing re-read of the repository and the token."""
    for _ in range(TRIES):
        seen = w.repository, w.branch.tokens[0]
        yield
        if w.refused(address):
            return
        yield
        w.data[seen[1]]["q"] = address
        w.sent.add(("q", address))
        yield
        if seen == (w.repository, w.branch.tokens[0]):
            w.acknowledged.add(("q", address))
            return


def stage_many(w: World) -> Steps:
    """A layer: the records are read, the address is checked, and the layer is added by a swap."""
    for _ in range(TRIES):
        used = w.branch
        yield
        if w.refused("a"):
            return
        yield
        if w.swap(used, tokens=(w.token(), w.token(q="a"), *used.tokens)):
            w.acknowledged.add(("q", "a"))
            return


def put(w: World) -> Steps:
    """New content at the erased path. From the second attempt on, its address is checked."""
    w.objects.add("n")
    for attempt in range(TRIES):
        seen = w.repository, w.branch.tokens[0]
        yield
        if attempt and "puts check" in w.rules and w.refused("n"):
            return
        w.data[seen[1]]["p"] = "n"
        w.sent.add(("p", "n"))
        yield
        if seen == (w.repository, w.branch.tokens[0]):
            w.acknowledged.add(("p", "n"))
            return


def move(w: World) -> Steps:
    """New content at the erased path, which is staged at "q" by its address and then removed from the erased path."""
    yield from put(w)
    if ("p", "n") not in w.acknowledged:
        return
    yield from stage(w, "n")
    w.data[w.branch.tokens[0]]["p"] = None
    yield


def commit(w: World) -> Steps:
    """Seal, and advance by a swap from the very record."""
    for _ in range(TRIES):
        yield
        used = w.branch
        if not w.swap(used, tokens=(w.token(), *used.tokens)):
            continue
        sealed = w.branch
        yield
        tree = frozenset(w.shown(replace(sealed, tokens=sealed.tokens[1:])).items())
        yield
        if w.swap(sealed, head=tree, tokens=sealed.tokens[:1]):
            return


def put_and_commit(w: World) -> Steps:
    yield from put(w)
    yield from commit(w)


Actor = Callable[[World], Steps]
OTHERS: dict[str, tuple[Actor, ...]] = {
    "stage": (stage,),
    "layer": (stage_many,),
    "stage, commit": (stage, commit),
    "put": (put,),
    "put, commit": (put_and_commit,),
    "erase": (erase,),
    "erase, stage": (erase, stage),
    "erase, layer": (erase, stage_many),
    "erase, put": (erase, put),
    "move": (move,),
    "erase, move": (erase, move),
}


def broken(w: World) -> list[str]:
    """Return the promises that are broken after all actors have ended and a last call has gone on."""
    unconfirmed = w.sent - w.acknowledged
    found = [f"{path} shows lost content" for path, x in w.shown(w.branch).items() if x not in w.objects]
    if unconfirmed:
        found = [each for each in found if each[0] not in {path for path, _ in unconfirmed}]
    if any(path == "q" and address not in w.objects for path, address in w.acknowledged):
        found.append("acknowledged content at another path was erased")
    if any(not w.refused(x) for _, x in w.names() if x not in w.objects):
        found.append("content is missing, and no record says that it was erased")
    if w.state == "erasing":
        found.append("nobody can end the erasure")
    if w.state == "done" and "a" in w.objects:
        found.append("the erasure has ended, and the content exists")
    shown = set(w.shown(w.branch).items())
    if w.state == "done" and any(x in w.objects for path, x in w.history - shown if path == "p"):
        found.append("an erased path has content in the history")
    return found


def runs(rules: frozenset[str], others: tuple[Actor, ...], seed: int) -> Iterator[list[str]]:
    """Yield what is broken in random interleavings, in half of which the erasure is killed. In some of them actors take
    turns at each step, in others an actor makes many steps while the others stall.
    """
    chance = random.Random(seed)
    for number in range(4_000):
        turns = chance.choice((1, 0.3, 0.1))
        w = World(rules, Branch(frozenset())) if number % 3 == 0 else World(rules)
        running = [erase(w), *(other(w) for other in others)]
        killed = running[0] if number % 2 else None
        chosen = 0
        while running:
            if chosen >= len(running) or chance.random() < turns:
                chosen = chance.randrange(len(running))
            dies = running[chosen] is killed and chance.random() < 0.15
            if dies or next(running[chosen], running) is running:
                del running[chosen]
        for _ in erase(w):
            pass
        yield broken(w)


@pytest.mark.parametrize("others", OTHERS)
def test_an_erasure_keeps_the_promises(others: str) -> None:
    assert not [what for found in runs(ALL, OTHERS[others], 1) for what in found]


@pytest.mark.parametrize(
    ("rule", "others", "what"),
    [
        ("marks", "stage", "another path"),
        ("marks", "layer", "another path"),
        ("repository", "stage", "another path"),
        ("branches", "layer", "another path"),
        ("again", "put, commit", "in the history"),
        ("joins", "erase, put", "nobody can end"),
        ("own round", "erase, move", "another path"),
        ("puts check", "put", "p shows lost content"),
    ],
)
def test_a_rule_that_is_left_out_breaks_one(rule: str, others: str, what: str) -> None:
    assert any(what in each for found in runs(ALL - {rule}, OTHERS[others], 2) for each in found)
