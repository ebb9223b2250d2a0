"""The suite `simulation`: histories a second, of the pure model and of the simulator on the engine, on one core.

Both work in memory, whatever the store. A history that breaks a promise ends the run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.scenario import Clocked, Measured, Place, clocked, scenario
from tests.model.schedule import violation
from tests.simulation.run import simulate


def nothing(place: Place) -> None:
    """A history makes what it needs."""


@scenario("simulation", nothing, sizes=(20_000,), counts="histories")
def model(place: Place) -> Iterator[Measured]:
    """The pure model of the branch register (`tests/model`)."""
    broken: list[str] = []
    taken = clocked(lambda: broken.extend(filter(None, map(violation, range(place.size)))))
    yield from _rows("the model", place.size, taken, broken)


@scenario("simulation", nothing, sizes=(500,), counts="histories")
def simulator(place: Place) -> Iterator[Measured]:
    """The simulator (`tests/simulation`)."""
    simulate(0)  # imports what the engine imports late
    broken: list[str] = []
    taken = clocked(lambda: broken.extend(found for seed in range(place.size) for found in simulate(seed).violations))
    yield from _rows("the simulator", place.size, taken, broken)


def _rows(name: str, histories: int, taken: Clocked, broken: Sequence[str]) -> Iterator[Measured]:
    if broken:
        raise AssertionError(f"{name}: {len(broken)} violations, the first is {broken[0]}")
    yield Measured(f"histories of {name}", "per s", (histories / taken.wall[0] * 1e3,))
    yield Clocked((taken.wall[0] / histories,), (taken.cpu[0] / histories,)).named(f"a history of {name}")
