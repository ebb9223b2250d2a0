"""The registers of a branch as they were read together, and the copies of them that were read last."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass

from graveler_core.model.entities import Branch, Repository
from graveler_core.records.access import Held


@dataclass(frozen=True, slots=True)
class Registers:
    """A repository's and a branch's record as they were read together, the branch's with its predicate."""

    repository: Repository
    held: Held[Branch]

    @property
    def branch(self) -> Branch:
        return self.held.value


class RegisterCache:
    """The registers read last, by (repository, branch). Never proof of anything: flows end by reading again."""

    def __init__(self, capacity: int = 4_096) -> None:
        self._capacity = capacity
        self._held: OrderedDict[tuple[str, str], Registers] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, repository: str, branch: str) -> Registers | None:
        with self._lock:
            return self._held.get((repository, branch))

    def keep(self, repository: str, branch: str, registers: Registers) -> None:
        with self._lock:
            self._held[(repository, branch)] = registers
            self._held.move_to_end((repository, branch))
            while len(self._held) > self._capacity:
                self._held.popitem(last=False)

    def forget(self, repository: str, branch: str) -> None:
        with self._lock:
            self._held.pop((repository, branch), None)
