"""The tests of a module go to one worker, but near the end of a run each worker takes what is left."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.work_units import WorkUnits

MODULES = {"a": 40, "b": 30, "c": 30}
TESTS = [f"tests/test_{module}.py::test_{number}" for module, count in MODULES.items() for number in range(count)]


class FakeWorker:
    """Notes the tests that it is sent."""

    def __init__(self, name: str) -> None:
        self.gateway = SimpleNamespace(id=name)
        self.sent: list[int] = []
        self.shutting_down = False

    def send_runtest_some(self, indices: list[int]) -> None:
        self.sent += indices

    def shutdown(self) -> None:
        self.shutting_down = True


@pytest.fixture
def units(pytestconfig: pytest.Config) -> WorkUnits:
    options = {"dist": "loadgroup", "tx": ["popen", "popen"]}
    config: Any = SimpleNamespace(
        option=SimpleNamespace(loadscopereorder=False), getvalue=options.get, getoption=options.get, hook=None
    )
    return WorkUnits(config)


def scheduled(units: WorkUnits, tests: list[str]) -> list[FakeWorker]:
    """Two workers that have got their first tests."""
    workers = [FakeWorker("one"), FakeWorker("two")]
    for worker in workers:
        units.add_node(worker)  # type: ignore[arg-type]
        units.add_node_collection(worker, tests)  # type: ignore[arg-type]
    units.schedule()
    return workers


def test_a_module_goes_to_one_worker(units: WorkUnits) -> None:
    one, two = scheduled(units, TESTS)
    assert one.sent == [*range(40)]
    assert two.sent == [*range(40, 70)]


def test_near_the_end_tests_go_one_by_one_to_whoever_is_free(units: WorkUnits) -> None:
    one, two = scheduled(units, TESTS)
    for index in range(40, 70):
        units.mark_test_complete(two, index)  # type: ignore[arg-type]
    begun = len(two.sent) - 30
    assert two.sent[30:] == [*range(70, 70 + begun)]
    assert begun == 30 - 15
    for index in range(39):
        units.mark_test_complete(one, index)  # type: ignore[arg-type]
    assert len(one.sent) == 40 + 2, "two are always on their way"
    assert two.shutting_down is one.shutting_down is False


def test_each_test_runs_once_and_what_has_ended_is_forgotten(units: WorkUnits) -> None:
    workers = scheduled(units, [*TESTS, "tests/test_d.py::test_x@group", "tests/test_e.py::test_y[@]@group"])
    done = [0, 0]
    while any(done[at] < len(worker.sent) for at, worker in enumerate(workers)):
        for at, worker in enumerate(workers):
            if done[at] < len(worker.sent):
                units.mark_test_complete(worker, worker.sent[done[at]])  # type: ignore[arg-type]
                done[at] += 1
    assert sorted(workers[0].sent + workers[1].sent) == [*range(102)]
    assert all(worker.shutting_down for worker in workers)
    assert units.tests_finished
    assert all(not units.assigned_work[worker] for worker in workers)  # type: ignore[index]


def test_tests_of_a_worker_that_dies_go_to_the_other(units: WorkUnits) -> None:
    one, two = scheduled(units, TESTS)
    units.mark_test_complete(one, 0)  # type: ignore[arg-type]
    assert units.remove_node(one) == TESTS[1]  # type: ignore[arg-type]
    assert len(units.workqueue) + len(two.sent) >= 30 + 30 + 38
