"""Repositories of lakeFS that tests write themselves, with whatever history they need."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from graveler_core.transfer.lakefs.messages import BranchMessage, CommitMessage, EntryMessage, TagMessage
from tests.unit.transfer.lakefs.tables import described, table, value

RANGE = 3
"""Mean number of entries of a range."""


@dataclass(frozen=True)
class Crafted:
    """A storage namespace in a directory."""

    place: Path
    commits: dict[str, Any] = field(default_factory=dict)

    @property
    def uri(self) -> str:
        """Its URI."""
        return self.place.as_uri()

    def table(self, entries: Sequence[tuple[bytes, bytes]]) -> str:
        """Write a table below `_lakefs`. Returns its id, the hash of its content."""
        data = table(entries)
        id = hashlib.sha256(data).hexdigest()
        (self.place / "_lakefs").mkdir(parents=True, exist_ok=True)
        (self.place / "_lakefs" / id).write_bytes(data)
        return id

    def metarange(self, entries: Mapping[str, bytes]) -> str:
        """Write entries (path and encoded message) as ranges and a metarange. Returns its id."""
        rows = [(path.encode(), value(b"identity", data)) for path, data in entries.items()]
        ranges, part = [], list[tuple[bytes, bytes]]()
        for row in sorted(rows):
            part.append(row)
            if hashlib.sha256(row[0]).digest()[0] % RANGE == 0:
                ranges.append(part)
                part = []
        ranges += [part] if part else []
        return self.table([described(self.table(each), each[0][0], each[-1][0], len(each)) for each in ranges])

    def commit(self, id: str, parents: Sequence[str], entries: Mapping[str, bytes], **fields: Any) -> None:
        """Add a commit."""
        made = CommitMessage(
            id=id,
            committer="ada",
            message=f"commit {id}",
            meta_range_id=self.metarange(entries),
            parents=parents,
            **fields,
        )
        made.creation_date.seconds = 1_700_000_000 + len(self.commits)
        self.commits[id] = made

    def dump(self, branches: Mapping[str, str], tags: Mapping[str, str] | None = None) -> None:
        """Write a dump of references."""
        messages = {
            "commits": {id: commit.SerializeToString() for id, commit in self.commits.items()},
            "branches": {id: BranchMessage(id=id, commit_id=at).SerializeToString() for id, at in branches.items()},
            "tags": {id: TagMessage(id=id, commit_id=at).SerializeToString() for id, at in (tags or {}).items()},
        }
        said = {f"{name}_meta_range_id": self.metarange(found) for name, found in messages.items()}
        (self.place / "_lakefs" / "refs_manifest.json").write_text(json.dumps(said))


def entry(number: int, place: int = 0, **fields: Any) -> bytes:
    """An entry that is told from others by its number; place and time change nothing about that."""
    made = EntryMessage(address=f"data/{number}-{place}", address_type=1, size=number, e_tag=f"{number:032x}", **fields)
    made.last_modified.seconds = 1_700_000_000 + place
    made.last_modified.nanos = 123_456_000
    return bytes(made.SerializeToString())
