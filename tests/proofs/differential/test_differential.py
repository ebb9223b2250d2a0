"""The public API against a model of dictionaries: random steps on each store, every kind of step at least once."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from graveler_core.facade.branch import Branch
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.history import LogEntry
from graveler_core.facade.repository import Repository
from graveler_core.facade.snapshot import Snapshot
from tests.proofs.differential.episode import LETTERS, play
from tests.proofs.differential.steps.registry import LEFT_OUT, STEPS
from tests.proofs.differential.world import Shape

HANDLES = (Graveler, Repository, Branch, Snapshot, LogEntry)
SMALL, MIDDLE = Shape(400, 14, 14), Shape(400, 60, 60)


@pytest.mark.parametrize("seed", ["1", *(pytest.param(seed, marks=pytest.mark.ci) for seed in ("2", "3", "4"))])
def test_memory(seed: str) -> None:
    play(seed, "memory", shape=SMALL if int(seed) % 2 else MIDDLE)


def test_sqlite() -> None:
    play("5", "sqlite", shape=Shape(150, 14, 14))


def test_postgresql(postgresql_server: str) -> None:
    play("6", postgresql_server, shape=Shape(100, 14, 14))


def test_batches_of_thousands() -> None:
    play("7", "memory", shape=LETTERS, steps=30)


def test_every_public_method_is_called(calls: set[str]) -> None:
    """What no step calls is listed with a reason, and nothing else is. Each episode begins with each step once."""
    for seed in range(8, 20):
        play(str(seed), "memory", shape=Shape(len(STEPS), 14, 14), every=True)
        if set(public()) - calls <= set(LEFT_OUT):
            break
    assert set(public()) - calls == set(LEFT_OUT)


def public() -> Iterator[str]:
    """Methods and properties of the handles."""
    for handle in HANDLES:
        for name, _ in inspect.getmembers(handle):
            if not name.startswith("_") and name not in getattr(handle, "__dataclass_fields__", ()):
                yield f"{handle.__name__}.{name}"


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Notes which methods and properties of the handles are used."""
    noted: set[str] = set()

    def noting(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def called(*args: Any, **kwargs: Any) -> Any:
            noted.add(name)
            return method(*args, **kwargs)

        return called

    for handle in HANDLES:
        for name in [full.partition(".")[2] for full in public() if full.startswith(f"{handle.__name__}.")]:
            found = inspect.getattr_static(handle, name)
            full = f"{handle.__name__}.{name}"
            if isinstance(found, property):
                assert found.fget is not None
                monkeypatch.setattr(handle, name, property(noting(full, found.fget)))
            elif inspect.isfunction(found):
                monkeypatch.setattr(handle, name, noting(full, found))
    return noted
