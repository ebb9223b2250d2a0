"""A process that erases a prefix, and kills itself before one of its calls to a store.

python -m tests.proofs.processes.erasing_process URL OPTIONS PREFIX KIND NUMBER

KIND is `calls` for the calls to the key-value store, or `deletions` for those of objects. It prints the number of calls
of the kind if it ends.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import closing
from typing import Any

from graveler_core.blobs.open import OpenedBlobs
from graveler_core.errors import GravelerError
from graveler_core.facade.graveler import Graveler
from graveler_core.kv.registry import open_store
from graveler_core.stores import Stores
from tests.unit.engine.interposed import Interposed


def die() -> None:
    """Kill this process. Nothing of it runs any more."""
    os.kill(os.getpid(), signal.SIGKILL)


class Deletions:
    """Objects in all namespaces. The process dies before the deletion with a number."""

    def __init__(self, inner: Any, number: int, counted: list[str]) -> None:
        self._inner = inner
        self._number = number
        self.counted = counted

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def at(self, namespace: str) -> Deletions:
        """The objects of a namespace."""
        return Deletions(self._inner.at(namespace), self._number, self.counted)

    def delete(self, address: str) -> None:
        """Delete an object, or die."""
        if len(self.counted) == self._number:
            die()
        self.counted.append(address)
        self._inner.delete(address)

    def delete_many(self, addresses: Sequence[str]) -> dict[str, GravelerError]:
        """Delete objects, or die when some of them are deleted. A store may stop there, too."""
        for address in addresses:
            self.delete(address)
        return {}


def main(url: str, options: str, prefix: str, kind: str, number: int) -> None:
    """Erase, or die."""
    kv = Interposed(open_store(url))
    if kind == "calls":
        kv.before[number] = die
    blobs = Deletions(OpenedBlobs(json.loads(options)), number if kind == "deletions" else -1, [])
    with closing(Stores(kv=kv, blobs=blobs)) as stores:  # type: ignore[arg-type]
        Graveler(stores).repository("repo").erase(prefix=prefix, why="request 17")
    print(len(kv.verbs) if kind == "calls" else len(blobs.counted))


if __name__ == "__main__":
    main(*sys.argv[1:5], int(sys.argv[5]))
