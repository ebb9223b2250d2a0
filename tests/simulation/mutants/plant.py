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
GARBAGE = "nothing is left for ever"
"""What no reader sees: that every layer which leaves a record, and every repository, is named for the cleaner."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One rule less, and a seed that shows it."""

    name: str
    what: str
    """What is planted, in a sentence."""
    breaks: str
    """The promise of `docs/guarantees.md` that does not hold any more: its number, or its words."""
    seed: int
    theme: str
    """What the history consists of alone; "" for the ordinary mix of calls."""
    planted: Mutation


MUTANTS: dict[str, Mutant] = {}


def mutant(*, seed: int, breaks: str, theme: str = "") -> Callable[[Callable[[], Iterator[None]]], Mutation]:
    """Register a generator function as a mutant under its own name; its docstring says what it plants."""

    def register(planted: Callable[[], Iterator[None]]) -> Mutation:
        manager = contextmanager(planted)
        name, what = planted.__name__, planted.__doc__ or ""
        MUTANTS[name] = Mutant(name, what, breaks, seed, theme, manager)
        return manager

    return register


@contextmanager
def instead(*patches: tuple[Any, str, Any]) -> Iterator[None]:
    """Patch (module, name, what stands there instead)."""
    with ExitStack() as stack:
        for module, name, value in patches:
            stack.enter_context(patch.object(module, name, value))
        yield
