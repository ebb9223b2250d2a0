"""Planted bugs: each takes one rule out of the real engine, and the simulator must notice.

A mutant is a context manager that patches the engine while it is open. Whatever survives shows that the workload or
the judges are too weak, and makes them stronger: nothing is planted that no promise forbids.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

Mutation = Callable[[], AbstractContextManager[None]]


@dataclass(frozen=True, slots=True)
class Mutant:
    """One rule less, and the seed of the default run that shows it."""

    name: str
    seed: int
    planted: Mutation


MUTANTS: dict[str, Mutant] = {}


def mutant(seed: int) -> Callable[[Callable[[], Iterator[None]]], Mutation]:
    """Register a generator function, decorated or not, as a mutant under its own name."""

    def register(planted: Callable[[], Iterator[None]]) -> Mutation:
        name = planted.__name__
        manager = contextmanager(planted)
        MUTANTS[name] = Mutant(name, seed, manager)
        return manager

    return register


@contextmanager
def instead(*patches: tuple[Any, str, Any]) -> Iterator[None]:
    """Patch (module, name, what stands there instead)."""
    with ExitStack() as stack:
        for module, name, value in patches:
            stack.enter_context(patch.object(module, name, value))
        yield
