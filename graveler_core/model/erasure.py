"""Records about erasures: content of some paths that is deleted in all history. See `graveler_core.erasure.flow`."""

from __future__ import annotations

import json
import operator
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from graveler_core.errors import InvalidInput, Kind, LimitExceeded
from graveler_core.model.commit_texts import require_texts
from graveler_core.model.counting import counted
from graveler_core.model.entities import Record
from graveler_core.model.ids import Nonce
from graveler_core.model.key_intervals import prefix_end
from graveler_core.model.limit import require_limit
from graveler_core.model.names import many_paths, path_key, prefix_key

MAX_PATHS_BYTES = 64 * 1024
"""Maximum size of the paths of one erasure in bytes, as a JSON list. The record of an erasure contains them."""
MAX_REASON = 1_000
"""Maximum number of characters of the reason."""


class ErasureState(StrEnum):
    """State of an erasure."""

    ERASING = "erasing"
    """The content is being marked, and branches lose the paths. Nothing is deleted yet."""
    DELETING = "deleting"
    """No branch shows the paths, and the content is being deleted. The erasure can no longer be withdrawn."""
    DONE = "done"
    """The content is deleted."""
    WITHDRAWN = "withdrawn"
    """Nothing was deleted, because another path named the content in the meantime."""


@dataclass(frozen=True, slots=True)
class ErasureRule:
    """Paths whose content is erased: those below a prefix, or some paths."""

    prefix: str = ""
    paths: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if bool(self.prefix) == bool(self.paths):
            raise InvalidInput("erase: give either paths or a prefix that is not empty")
        prefix_key(self.prefix)
        keys = [path_key(path) for path in self.paths]
        object.__setattr__(self, "paths", tuple(key.decode() for key in sorted(set(keys))))
        size = len(json.dumps(self.paths, ensure_ascii=False).encode())
        if size > MAX_PATHS_BYTES:
            raise LimitExceeded(
                f"erase: {counted(len(keys), 'path takes', 'paths take')} {size:,} bytes; the maximum is "
                f"{MAX_PATHS_BYTES:,}; erase a "
                "prefix, or several groups of paths one after the other",
                kind=Kind.TooManyItems,
                size=size,
                limit=MAX_PATHS_BYTES,
            )

    @property
    def keys(self) -> list[bytes]:
        """Keys of the paths, sorted. Empty for a prefix."""
        return [path.encode() for path in self.paths]

    @property
    def interval(self) -> tuple[bytes, bytes | None]:
        """Key interval of the prefix."""
        key = prefix_key(self.prefix)
        return key, prefix_end(key)

    def matches(self, keys: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return true for each key of a column that is a path of the rule."""
        if self.prefix:
            return pc.starts_with(keys, self.prefix.encode())
        return pc.is_in(keys, value_set=pa.array(self.keys, keys.type))

    def __str__(self) -> str:
        if self.prefix:
            return f"prefix {self.prefix!r}"
        return f"path {self.paths[0]!r}" if len(self.paths) == 1 else counted(len(self.paths), "path")


def erasure_rule(paths: Iterable[str] | None, prefix: str | None) -> ErasureRule:
    """Return the rule for the arguments of a user.

    Raises:
        InvalidInput: Both or none are given, or one is empty or invalid.
        LimitExceeded: The paths are too long together.
    """
    if (paths is None) == (prefix is None):
        raise InvalidInput("erase: give either paths or a prefix")
    return ErasureRule(paths=tuple(many_paths(paths))) if paths is not None else ErasureRule(prefix=prefix or "")


def require_reason(why: str) -> str:
    """Check the reason of an erasure, and return it.

    Raises:
        InvalidInput: The reason is empty or no valid text.
        LimitExceeded: (`TextTooLong`) The reason is too long.
    """
    if not isinstance(why, str) or not why.strip():
        raise InvalidInput(f"erase: the reason {why!r} must be a text that is not empty")
    require_limit("reason of an erasure", len(why), MAX_REASON, "characters", Kind.TextTooLong)
    require_texts(why, "", {}, "")
    return why


class Erasure(Record):
    """An erasure of one repository. Every change is a swap with a fresh nonce."""

    id: str
    """Begins with the time, so ids are in the order of the erasures."""
    state: ErasureState
    prefix: str = ""
    paths: tuple[str, ...] = ()
    """Sorted. Either a prefix or paths are given."""
    why: str
    by: str = ""
    """Name of the person who asked for it."""
    shared: bool = Field(default=False, exclude_if=operator.not_)
    """True to erase content that other paths name, too."""
    since: datetime
    """Time at which the erasure began."""
    rounds: tuple[str, ...] = ()
    """Rounds whose marks count: see `ErasedContent`."""
    objects: int = Field(default=0, ge=0)
    size: int = Field(default=0, ge=0)
    """Size of the objects in bytes, as their entries say."""
    ended: datetime | None = None
    nonce: Nonce

    @property
    def rule(self) -> ErasureRule:
        return ErasureRule(self.prefix, self.paths)


class ErasedContent(Record):
    """Mark of an address whose content is erased. It counts if its erasure lists one of the rounds and was not
    withdrawn.
    """

    address: str
    """Relative to the storage namespace."""
    size: int = Field(ge=0)
    """Size of the object in bytes, as an entry says."""
    erasure: str
    round: str
    """Round that has marked the address first."""
    later_rounds: tuple[str, ...] = Field(default=(), exclude_if=operator.not_)
    """Rounds of other processes that have marked it as well, because none of the rounds was listed."""

    @property
    def rounds(self) -> tuple[str, ...]:
        """All rounds that have marked the address."""
        return self.round, *self.later_rounds

    def counts_for(self, erasure: Erasure) -> bool:
        """Return `True` if it belongs to an erasure that lists one of its rounds."""
        return self.erasure == erasure.id and not set(self.rounds).isdisjoint(erasure.rounds)
