"""Repositories in directories that are made once, and restored for each turn of a sweep."""

from __future__ import annotations

import os
import shutil
from copy import copy
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import mkdtemp
from typing import Generic, Protocol, TypeVar

from graveler_core.blobs.open import OpenedBlobs
from tests.unit.engine.world import CountedIds, FakeClock, World


class InDirectory(Protocol):
    """An object whose state is a world and the files below a directory."""

    root: Path
    world: World


L = TypeVar("L", bound=InDirectory)


class Template(Generic[L]):
    """The state of a world and of its directory at one time.

    Addresses are absolute, so each copy has the directory of the one before. The clock goes on with the real one, since
    files of a copy get real times.

    Args:
        made: The object as it is now.
        shared: False if tests write files in place. Each copy then has files of its own instead of links.
    """

    def __init__(self, made: L, *, shared: bool = True) -> None:
        self._made, self._at = made, datetime.now(UTC)
        self._put = os.link if shared else shutil.copyfile
        self._ids = int(made.world.ids.fresh(), 16) + 1
        self._files = Path(mkdtemp(dir=made.root.parent))
        shutil.copytree(made.root, self._files, copy_function=self._put, dirs_exist_ok=True)

    def copy(self) -> L:
        """Return the object as it was. The copy before it is no longer usable."""
        shutil.rmtree(self._made.root)
        shutil.copytree(self._files, self._made.root, copy_function=self._put)
        clock, ids = FakeClock(), CountedIds()
        clock.time = self._made.world.clock.time + (datetime.now(UTC) - self._at)
        ids.skip(self._ids)
        copied = copy(self._made)
        copied.world = replace(self._made.world.fork(), clock=clock, ids=ids, blobs=OpenedBlobs(durable=False))
        return copied
