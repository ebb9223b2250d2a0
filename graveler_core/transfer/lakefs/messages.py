"""Messages (protobuf) that lakeFS stores, described here so that no code is generated.

Only the fields that a migration needs are described; others are skipped when a message is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from graveler_core.transfer.protobuf import (
    BOOLEAN,
    BYTES,
    INT32,
    INT64,
    MAP,
    TEXT,
    TEXTS,
    TIME,
    Fields,
    message_classes,
)

_MESSAGES: Final[Mapping[str, Fields]] = {
    "Entry": {
        1: ("address", TEXT),
        2: ("last_modified", TIME),
        3: ("size", INT64),
        4: ("e_tag", TEXT),
        5: ("metadata", MAP),
        6: ("address_type", INT32),
        7: ("content_type", TEXT),
    },
    "Range": {1: ("min_key", BYTES), 2: ("max_key", BYTES), 4: ("count", INT64)},
    "Branch": {1: ("id", TEXT), 2: ("commit_id", TEXT), 5: ("hidden", BOOLEAN)},
    "Tag": {1: ("id", TEXT), 2: ("commit_id", TEXT)},
    "Commit": {
        1: ("id", TEXT),
        2: ("committer", TEXT),
        3: ("message", TEXT),
        4: ("creation_date", TIME),
        5: ("meta_range_id", TEXT),
        6: ("metadata", MAP),
        7: ("parents", TEXTS),
        8: ("version", INT32),
        9: ("generation", INT32),
    },
}
"""Fields by message and number: name and type. An enumeration is read as a number, which has the same encoding."""


_found: Final = message_classes("lakefs", _MESSAGES)
EntryMessage: Final = _found["Entry"]
"""Entry of a path, in ranges and in staged rows."""
RangeMessage: Final = _found["Range"]
"""Description of a range in a metarange."""
BranchMessage: Final = _found["Branch"]
TagMessage: Final = _found["Tag"]
CommitMessage: Final = _found["Commit"]
