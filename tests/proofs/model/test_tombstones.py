"""All interleavings of a sweep of tombstones with the writers of a row, on a model of one object in a bucket.

The object is absent, a tombstone, or a row. All tombstones have one ETag, and each row has its own. Both no object and
a tombstone mean that the key is absent. A request of a process is one step, so the orders of the steps are all that can
happen. A process that dies has taken its last step, and a request that arrives late is a step that comes late.

Each step must change the meaning as its operation does, and a step of a sweep must not change it. So each operation
takes effect at one of its own steps, and the store stays linearizable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import pytest

from tests.proofs.model.reachable import reachable

ABSENT, TOMBSTONE = "no object", "tombstone"
OVER = "over"


@dataclass(frozen=True)
class Bucket:
    """The object, and where each process is: a step, or the answer with which it has ended."""

    object: str
    at: tuple[str, ...]


Step = Callable[[str, str, str], list[tuple[str, str]]]
"""From the name of the process, its place and the object: the next places and objects."""


def meaning(held: str) -> str | None:
    return None if held in (ABSENT, TOMBSTONE) else held


def creator(name: str, at: str, held: str) -> list[tuple[str, str]]:
    """As `BucketRequests.create_or_replace`."""
    if at == "create":
        return [("created", name)] if held == ABSENT else [("read", held)]
    if at == "read":
        return [({ABSENT: "create", TOMBSTONE: "replace"}.get(held, "lost"), held)]
    if at == "replace":
        return [("created", name)] if held == TOMBSTONE else [("create", held)]
    return []


def deleter(name: str, at: str, held: str) -> list[tuple[str, str]]:
    """As `BucketRequests.replace_any` with a tombstone."""
    del name
    if at == "look":
        return [("lost" if meaning(held) is None else f"replace {held}", held)]
    if at.startswith("replace "):
        return [("deleted", TOMBSTONE)] if at == f"replace {held}" else [("look", held)]
    return []


def setter(name: str, at: str, held: str) -> list[tuple[str, str]]:
    del held
    return [("set", name)] if at == "put" else []


def remover(name: str, at: str, held: str) -> list[tuple[str, str]]:
    """`Store.delete`: without a condition."""
    del name, held
    return [("removed", ABSENT)] if at == "remove" else []


def sweep(name: str, at: str, held: str) -> list[tuple[str, str]]:
    """List, and delete on the condition that it still is a tombstone."""
    del name
    if at == "list":
        return [("delete" if held == TOMBSTONE else "list again", held)]
    if at == "list again":
        return [("delete" if held == TOMBSTONE else OVER, held)]
    return [(OVER, ABSENT if held == TOMBSTONE else held)] if at == "delete" else []


def careless_sweep(name: str, at: str, held: str) -> list[tuple[str, str]]:
    """Without the condition."""
    return [(OVER, ABSENT)] if at == "delete" else sweep(name, at, held)


def slow_sweep(name: str, at: str, held: str) -> list[tuple[str, str]]:
    """It looks again just before it deletes, without a condition."""
    del name
    if at in ("list", "look"):
        return [({"list": "look", "look": "delete"}[at] if held == TOMBSTONE else OVER, held)]
    return [(OVER, ABSENT)] if at == "delete" else []


START = {creator: "create", deleter: "look", setter: "put", remover: "remove"}


def states(sweeper: Step, others: tuple[Step, ...]) -> Iterator[tuple[Bucket, int, Bucket]]:
    """Yield each step that can happen: the state before, the process, and the state after."""
    processes = (sweeper, sweeper, *others)
    found: list[tuple[Bucket, int, Bucket]] = []

    def steps(before: Bucket) -> Iterator[Bucket]:
        for number, process in enumerate(processes):
            for at, held in process(f"row {number}", before.at[number], before.object):
                places = (*before.at[:number], at, *before.at[number + 1 :])
                after = replace(before, object=held, at=places)
                found.append((before, number, after))
                yield after

    at = ("list", "list", *(START[other] for other in others))
    for _ in reachable([Bucket(held, at) for held in (ABSENT, TOMBSTONE, "row before")], steps):
        yield from found
        found.clear()


def violations(sweeper: Step, others: tuple[Step, ...]) -> list[str]:
    """What the steps change that their operations do not."""
    wrong = []
    for before, number, after in states(sweeper, others):
        was, now, ended = meaning(before.object), meaning(after.object), after.at[number]
        allowed = {
            "created": (None, f"row {number}"),
            "deleted": (was if was is not None else "a row", None),
            "set": (was, f"row {number}"),
            "removed": (was, None),
        }.get(ended if number > 1 else OVER, (was, was))
        if (was, now) != allowed:
            wrong.append(f"process {number} ended with {ended}: {was} became {now}")
    return wrong


MIXES: list[tuple[Step, ...]] = [
    (creator, creator, deleter),
    (creator, deleter, deleter),
    (creator, setter, deleter),
    (creator, creator, remover),
    (setter, deleter, remover),
]


@pytest.mark.parametrize("others", MIXES, ids=lambda others: "-".join(each.__name__ for each in others))
def test_a_sweep_changes_nothing_that_means_something(others: tuple[Step, ...]) -> None:
    """Two sweeps at the same time, as one that died and its successor."""
    assert not violations(sweep, others)


@pytest.mark.parametrize("sweeper", [careless_sweep, slow_sweep])
@pytest.mark.parametrize("other", [creator, setter])
def test_without_the_condition_a_row_is_lost(sweeper: Step, other: Step) -> None:
    """However late the sweep looks again."""
    assert f"process 0 ended with {OVER}: row 2 became None" in violations(sweeper, (other,))


def test_the_model_reaches_what_is_to_be_feared() -> None:
    """Rows that were created over a tombstone, and over what a sweep has left; and a tombstone that came back."""
    steps = list(states(sweep, (creator, deleter)))
    over = {before.object for before, number, after in steps if number == 2 and after.at[2] == "created"}
    assert over == {ABSENT, TOMBSTONE}
    assert any(before.at[0] == "delete" and after.at[3] == "deleted" for before, _, after in steps)
