"""Commits of an export. The files contain them in any order; afterwards they are read by id.

The files of Nessie list the newest commits first, and a commit can be written only after its parents. The messages are
therefore copied to a temporary file on the local disk. Memory holds about 600 bytes for each commit.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from google.protobuf.message import DecodeError

from graveler_core.errors import InvalidInput
from graveler_core.model.commit_texts import require_texts
from graveler_core.model.dump import ForeignCommit
from graveler_core.model.ids import MetarangeId
from graveler_core.model.migration import ORIGIN
from graveler_core.transfer.broken_values import BrokenValueError
from graveler_core.transfer.files import TemporaryDump
from graveler_core.transfer.migration.lineage import ordered
from graveler_core.transfer.nessie.headers import MISSING, headers_of_metadata, metadata_of
from graveler_core.transfer.nessie.messages import EMPTY_ID, ExportedCommitMessage

MAX_ID_BYTES = 64
FIRST_MESSAGE = "Repository created"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class NessieCommit:
    """Commit of an export."""

    foreign: ForeignCommit
    """Header, with its id in Nessie in the metadata. Its metarange is empty."""
    operations: tuple[Any, ...]

    @property
    def id(self) -> str:
        """Id in Nessie, hexadecimal."""
        return self.foreign.id


@dataclass(slots=True)
class ExportedCommits:
    """Commits of an export."""

    file: TemporaryDump
    version: int
    first_date: datetime
    """Date of the commit that stands for branches without commits."""
    needs_first: bool = False
    """True if a branch or tag has no commit, or a commit has merged parents but no direct one, or names nothing as a
    merged parent. Such a branch gets a commit without content, and it is the parent of such a commit.
    """
    parents: dict[str, tuple[str, ...]] = field(default_factory=dict)
    places: dict[str, tuple[int, int]] = field(default_factory=dict)
    end: int = 0

    def add(self, data: bytes) -> None:
        """Add the message of a commit.

        Raises:
            BrokenValueError: It is not a commit, or its id is not valid or duplicated.
        """
        said = _parsed(data)
        id = said.id.hex()
        if not 0 < len(said.id) <= MAX_ID_BYTES or id == EMPTY_ID:
            raise BrokenValueError(f"commit id {id!r} is not valid")
        if id in self.parents:
            raise BrokenValueError(f"commit {id} is duplicated")
        direct = said.parent.hex() or EMPTY_ID
        more = [parent.hex() for parent in said.more_parents]
        if direct == EMPTY_ID and not any(more):
            self.parents[id] = ()
        else:
            self.parents[id] = (direct, *dict.fromkeys(parent for parent in more if parent not in ("", direct)))
            self.needs_first |= EMPTY_ID in self.parents[id]
        self.places[id] = self.end, len(data)
        self.file.write(data)
        self.end += len(data)

    def order(self) -> list[str]:
        """Return the ids of all commits, parents before children.

        Raises:
            BrokenValueError: A first parent is missing, or commits are their own ancestors.
        """

        def broken(id: str, why: str) -> None:
            raise BrokenValueError(f"commit {id}: {why}")

        # Merged commits may be missing, because Nessie does not need them. A first parent may not.
        known = {
            id: tuple(p for p in named if p in self.parents or (p == named[0] and p != EMPTY_ID))
            for id, named in self.parents.items()
        }
        found = ordered(known, known, broken)
        return [EMPTY_ID, *found] if self.needs_first else found

    def has(self, id: str) -> bool:
        """Return true if a branch, a tag or a commit can name this commit."""
        return id in self.places or (id == EMPTY_ID and self.needs_first)

    def read(self, id: str) -> NessieCommit:
        """Read a commit.

        Raises:
            BrokenValueError: Its header is not valid, or its texts are too long.
        """
        if id == EMPTY_ID:
            return NessieCommit(_foreign(id, (), FIRST_MESSAGE, ("", {}), self.first_date), ())
        start, length = self.places[id]
        said = _parsed(os.pread(self.file.file.fileno(), length, start))
        try:
            date = _EPOCH + timedelta(microseconds=said.created_micros)
            if self.version == 1:
                message, headers = headers_of_metadata(said.metadata)
            else:
                message, headers = said.message, _headers(said.headers)
            committer, metadata = metadata_of(headers, date)
            named = self.parents[id]
            missing = [parent for parent in named[1:] if not self.has(parent)]
            if missing:
                metadata[MISSING] = " ".join(missing)
            foreign = _foreign(id, (p for p in named if self.has(p)), message, (committer, metadata), date)
            require_texts(foreign.message, foreign.committer, foreign.metadata)
        except (BrokenValueError, OverflowError, InvalidInput) as e:
            raise BrokenValueError(f"commit {id}: {e}") from e
        return NessieCommit(foreign, tuple(said.operations))


def _parsed(data: bytes) -> Any:
    try:
        return ExportedCommitMessage.FromString(data)
    except DecodeError as e:
        raise BrokenValueError(f"a commit is not readable ({e})") from e


def _foreign(
    id: str, parents: Iterable[str], message: str, said: tuple[str, dict[str, str]], date: datetime
) -> ForeignCommit:
    committer, metadata = said
    return ForeignCommit(
        id=id,
        metarange_id=MetarangeId(""),
        parents=tuple(parents),
        message=message,
        committer=committer,
        creation_date=date,
        metadata={**metadata, ORIGIN: id},
    )


def _headers(said: Iterable[Any]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for header in said:
        found.setdefault(header.name, []).extend(header.values)
    return found
