"""The suite `simulation`: histories per second of the pure model and of the simulator, on one core.

Both work in memory and ignore the configured store. A history that violates a guarantee ends the run with an error.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.scenario import Clocked, Measured, Place, clocked, scenario
from tests.proofs.model.schedule import violation
from tests.proofs.simulation.run import simulate


def nothing(place: Place) -> None:
    """Do nothing: each history creates its own data."""


@scenario("simulation", nothing, sizes=(20_000,), counts="histories")
def model(place: Place) -> Iterator[Measured]:
    """Run histories in the pure model of the branch record (`tests/proofs/model`)."""
    broken: list[str] = []
    taken = clocked(lambda: broken.extend(filter(None, map(violation, range(place.size)))))
    yield from _rows("the model", place.size, taken, broken)


@scenario("simulation", nothing, sizes=(500,), counts="histories")
def simulator(place: Place) -> Iterator[Measured]:
    """Run histories in the simulator, which runs the real engine (`tests/proofs/simulation`)."""
    simulate(0)  # triggers the lazy imports of the engine
    broken: list[str] = []
    taken = clocked(lambda: broken.extend(found for seed in range(place.size) for found in simulate(seed).violations))
    yield from _rows("the simulator", place.size, taken, broken)


def _rows(name: str, histories: int, taken: Clocked, broken: Sequence[str]) -> Iterator[Measured]:
    if broken:
        raise AssertionError(f"{name}: {len(broken)} violations, the first is {broken[0]}")
    yield Measured(f"histories of {name}", "per s", (histories / taken.wall[0] * 1e3,))
    yield Clocked((taken.wall[0] / histories,), (taken.cpu[0] / histories,)).named(f"a history of {name}")
