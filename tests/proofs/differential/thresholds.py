"""Sizes and constants that decide how the library works and never what it answers: each handle draws its own."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pkgutil import walk_packages
from random import Random
from types import ModuleType

from graveler_core.committed.index.indexes import Sizes
from graveler_core.segments.boundary import Cutting

CONSTANTS: Mapping[str, tuple[int, ...]] = {
    "committed.LOOKED_AT_MEANS": (0, 1),
    "committed.MAX_TAKE_BYTES": (1, 500, 20_000),
    "committed.OPEN_MEANS": (1, 2),
    "committed.PAGE_ROWS": (1, 5),
    "committed.REWRITE_MEANS": (1, 2),
    "committed._IN_PYTHON": (0, 3, 20),
    "committed._KEYS_AT_ONCE": (1, 7),
    "committed._WINDOW": (1,),
    "committed._WINDOWS_UNDER_WAY": (1,),
    "engine.AT_ONCE": (1, 3),
    "engine.FEW_PATHS": (1, 2),
    "engine.FEW_RECORDS": (0, 2),
    "engine.MANY": (1, 5),
    "engine.SEGMENT_ROWS": (1, 4, 50),
    "engine.SHARE": (1, 3),
    "engine._MOST_COMMITS": (1, 3),
    "engine._MOST_KEYS": (1, 10),
    "engine._PAGE": (1, 3),
    "facade.ARROW_PAGE_ROWS": (1, 3),
    "facade.PAGE_ROWS": (1, 3, 20),
    "gc.BATCH": (1, 3),
    "kv.CHUNK_ROWS": (1, 3),
    "kv.FIRST_PAGE_ROWS": (1, 4),
    "kv.PAGE_ROWS": (3,),
    "refs._AT_ONCE": (1, 3),
    "refs._MERGED": (1, 2),
    "segments.ROWS_AT_ONCE": (1, 8),
    "segments._MANY_CHUNKS": (0, 2),
    "segments._ONE_BY_ONE": (0, 2),
    "staging.KEYS_AT_ONCE": (1, 8),
    "staging.LOOK": (1, 5),
    "staging.PIECE_BYTES": (1, 2_000),
    "staging.PIECE_ROWS": (1, 3, 30),
    "staging._SMALL_PAGES": (0, 1),
    "transfer.BATCH_ROWS": (1, 3),
    "transfer.OBJECTS_AT_ONCE": (1, 3),
}
"""By package and name, small values beside the one that the library has. They count in every module of the package that
defines or imports the name."""


def cutting(random: Random, *, large: bool) -> Cutting:
    """Sizes of ranges and nodes: part of the format, so all handles of a store have the same."""
    mean = random.choice((100, 1_000, 16_384) if large else (1, 3, 10, 16_384, 16_384, 16_384))
    return Cutting(mean, random.choice((1_500, 32 << 20)), random.choice((2, 3, 64)))


def sizes(random: Random) -> Sizes:
    """Sizes at which an index changes its shape; those of the library in half of the cases."""
    if random.random() < 1 / 2:
        return Sizes()
    return Sizes(
        inline_bytes=random.choice((1, 100, 500, 2_000, 8 << 10)),
        object_bytes=random.choice((200, 1_500, 64 << 10)),
        fan_out=random.choice((2, 3, 8)),
        fold_elements=random.choice((1, 8, 50, 4_096)),
        fold_share=random.choice((1, 2, 10)),
        fold_most=random.choice((5, 1_000_000)),
        fold_at_once=random.choice((1, 2, 4)),
        direct_share=random.choice((1, 2, 8)),
        small_elements=random.choice((0, 6, 500)),
        held_changes=random.choice((1, 10, 100_000)),
        few_keys=random.choice((0, 1, 2, 16)),
    )


def constants(random: Random) -> dict[str, int]:
    """Small values for some constants; the others stay what they are."""
    share = random.choice((0.0, 0.0, 0.2, 0.6))
    return {name: random.choice(small) for name, small in CONSTANTS.items() if random.random() < share}


@cache
def _modules(package: str) -> list[ModuleType]:
    """All modules of a package of the library."""
    top = import_module(f"graveler_core.{package}")
    return [import_module(found.name) for found in walk_packages(top.__path__, f"{top.__name__}.")]


def _places(name: str) -> list[tuple[ModuleType, str]]:
    """The modules that have a constant."""
    package, constant = name.split(".")
    found = [(module, constant) for module in _modules(package) if isinstance(getattr(module, constant, None), int)]
    assert found, f"graveler_core.{package} has no constant {constant} any more"
    return found


class Constants:
    """The constants of the modules, while handles take turns."""

    def __init__(self) -> None:
        self._at = {name: _places(name) for name in CONSTANTS}
        self._own = {name: [getattr(*place) for place in places] for name, places in self._at.items()}
        self._now: dict[str, int] = {}

    def use(self, wanted: dict[str, int]) -> None:
        """Set these, and all others to what the library has."""
        if wanted is self._now:
            return
        for name in self._now.keys() | wanted.keys():
            for place, own in zip(self._at[name], self._own[name], strict=True):
                setattr(*place, wanted.get(name, own))
        self._now = wanted
