"""The walk of the models that try every order of some processes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeVar

State = TypeVar("State", bound=Hashable)


def reachable(beginnings: Iterable[State], steps: Callable[[State], Iterable[State]]) -> Iterator[State]:
    """Yield each state that can be reached, once, the nearest first: the same order in each run."""
    seen = dict.fromkeys(beginnings)
    left = deque(seen)
    while left:
        state = left.popleft()
        yield state
        for fresh in steps(state):
            if fresh not in seen:
                seen[fresh] = None
                left.append(fresh)
