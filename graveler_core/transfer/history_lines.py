"""Order in which threads process the commits of a history, parents first.

One thread processes a line of history: a chain of commits, each of which is the only child of the one before it.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from graveler_core.errors import CorruptData, Kind


class HistoryLines:
    """Commits that wait for their parents. Thread-safe. About 500 bytes of memory for each commit.

    Args:
        parents: Parents of each commit. Parents that are not among the commits need no work.
        chance: Returns a number from 0 to below 1. It chooses among several lines, so that processes that work on one
            history at the same time seldom choose the same line.
    """

    def __init__(self, parents: Mapping[str, Sequence[str]], chance: Callable[[], float]) -> None:
        self._chance = chance
        self._children: defaultdict[str, list[str]] = defaultdict(list)
        self._waits: dict[str, int] = {}
        for id, named in sorted(parents.items()):
            above = {parent for parent in named if parent in parents}
            self._waits[id] = len(above)
            for parent in above:
                self._children[parent].append(id)
        self._ready = [id for id, count in self._waits.items() if not count]
        self._running = 0
        self._left = len(parents)
        self._stopped = False
        self._changed = threading.Condition()

    def take(self) -> str | None:
        """Wait for the first commit of a line. Return `None` if no work is left.

        Raises:
            CorruptData: The remaining commits are ancestors of themselves (`CorruptCommit`).
        """
        with self._changed:
            while not self._ready and self._running and not self._stopped:
                self._changed.wait()
            if self._stopped or not self._left:
                return None
            if not self._ready:
                raise CorruptData(f"{self._left:,} commits are ancestors of themselves", kind=Kind.CorruptCommit)
            self._running += 1
            return self._ready.pop(int(self._chance() * len(self._ready)))

    def following(self, id: str) -> str | None:
        """Return the commit that continues a line: the only child of a commit, if it waits for no other parent."""
        with self._changed:
            children = self._children.get(id, ())
            return children[0] if len(children) == 1 and self._waits[children[0]] == 1 else None

    def finish(self, line: Sequence[str]) -> None:
        """Note that the commits of a line are written, so that other lines can begin after them."""
        with self._changed:
            taken = set(line)
            for id in line:
                for child in self._children.pop(id, ()):
                    self._waits[child] -= 1
                    if not self._waits[child] and child not in taken:
                        self._ready.append(child)
            self._left -= len(line)
            self._running -= 1
            self._changed.notify_all()

    def stop(self) -> None:
        """End the work of all threads after their current lines."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
