"""Operations of the library beyond a network that loses one message: they settle the outcome, or a repetition does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, suppress

import pytest

import graveler_core as graveler
from graveler_core.errors import NotFound, NotUnique, OutcomeUnknown, SlowDown, Unavailable
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.testing.lossy_network import Cut, LossyNetwork
from tests.integration.stores.conftest import of_each_kind

MOST = 60
"""Number of messages that no operation needs."""

Step = Callable[[int], object]

pytestmark = [pytest.mark.parametrize("fault", [Cut.REQUEST, Cut.ANSWER]), of_each_kind]


@pytest.fixture
def lake(distant_url: str, namespace: str) -> Iterator[Repository]:
    """A repository beyond the network."""
    with closing(graveler.connect(distant_url)) as g:
        yield g.create_repository("lake", storage_namespace=namespace)


@pytest.fixture
def nearby(store_url: str) -> Iterator[Graveler]:
    """A handle on the same store that does not use the network."""
    with closing(graveler.connect(store_url)) as g:
        yield g


def each_lost(network: LossyNetwork, fault: Cut, prepare: Step, operation: Step) -> int:
    """Run an operation with each of its messages lost in turn, and repeat it if it reports a failure.

    Args:
        network: The network.
        fault: The fault.
        prepare: Called with a number before each operation, without a fault.
        operation: Called with the same number. It must have its effect after one repetition.

    Returns:
        How many times the operation ran.
    """
    for number in range(MOST):
        prepare(number)
        network.lose(fault, number)
        try:
            operation(number)
        except (OutcomeUnknown, Unavailable, SlowDown):
            assert network.heal(), "it failed without a fault"
            operation(number)
        else:
            if not network.heal():
                assert number, "no message was sent"
                return number + 1
    pytest.fail(f"it needs {MOST} messages")


def nothing(number: int) -> None:
    """Prepare nothing."""


def messages(g: Graveler) -> Counter[str]:
    return Counter(commit.message for commit in g.repository("lake").log("main", first_parent=True))


def once_each(times: int) -> dict[str, int]:
    return {"Repository created": 1, **{str(number): 1 for number in range(times)}}


def test_puts(lake: Repository, network: LossyNetwork, nearby: Graveler, fault: Cut) -> None:
    main = lake.branch("main")
    times = each_lost(network, fault, nothing, lambda number: main.put(f"{number}", b"%d" % number))
    found = nearby.repository("lake").branch("main")
    assert {entry.path: found.read(entry.path) for entry in found.list()} == {
        str(number): b"%d" % number for number in range(times)
    }


def test_commits_are_made_once(lake: Repository, network: LossyNetwork, nearby: Graveler, fault: Cut) -> None:
    main = lake.branch("main")
    times = each_lost(
        network,
        fault,
        lambda number: main.put(f"{number}", b"x"),
        lambda number: main.commit(str(number), idempotency_key=str(number)),
    )
    assert messages(nearby) == once_each(times)
    assert len(list(nearby.repository("lake").at("main").list())) == times


def test_merges_are_made_once(lake: Repository, network: LossyNetwork, nearby: Graveler, fault: Cut) -> None:
    dev = lake.create_branch("dev", "main")

    def prepare(number: int) -> None:
        dev.put(f"{number}", b"x")
        dev.commit(f"dev {number}")

    def merge(number: int) -> None:
        lake.merge("dev", into="main", message=str(number), idempotency_key=str(number))

    times = each_lost(network, fault, prepare, merge)
    assert messages(nearby) == once_each(times)
    assert len(list(nearby.repository("lake").at("main").list())) == times


def test_branches_come_and_go(lake: Repository, network: LossyNetwork, nearby: Graveler, fault: Cut) -> None:
    """A repetition may find that the first attempt was executed."""

    def create(number: int) -> None:
        with suppress(NotUnique):
            lake.create_branch(f"b{number}", "main")

    def delete(number: int) -> None:
        with suppress(NotFound):
            lake.delete_branch(f"b{number}")

    def branches() -> set[str]:
        return {branch.id for branch in nearby.repository("lake").branches()}

    created = each_lost(network, fault, nothing, create)
    assert branches() == {"main", *(f"b{number}" for number in range(created))}
    deleted = each_lost(network, fault, create, delete)
    assert branches() == {"main", *(f"b{number}" for number in range(deleted, created))}
