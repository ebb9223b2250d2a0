"""Planted bugs: each removes one rule from the real engine, and the simulator must detect it.

A mutant is a context manager that patches the engine while it is open. A mutant that is not detected shows that the
workload or the judges are too weak. Every mutant breaks a guarantee.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

Mutation = Callable[[], AbstractContextManager[None]]
GARBAGE = "no leftovers remain"
"""Guarantee that readers do not see: the cleaner finds every layer that left a record, and every deleted repository."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A planted bug, and a seed whose history shows it."""

    name: str
    what: str
    """Description in one sentence."""
    breaks: str
    """Guarantee that the mutant breaks: its number in `docs/guarantees.md`, or its words."""
    seed: int
    theme: str
    """Theme of the history; "" for the ordinary mix of calls."""
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
    """Patch attributes, each given as (module, name, replacement)."""
    with ExitStack() as stack:
        for module, name, value in patches:
            stack.enter_context(patch.object(module, name, value))
        yield
