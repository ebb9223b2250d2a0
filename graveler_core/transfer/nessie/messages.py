"""Messages (protobuf) of Nessie's export format, versions 1 to 3, described here so that no code is generated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from graveler_core.transfer.protobuf import BYTES, INT32, INT64, MANY_BYTES, MAP, TEXT, TEXTS, Fields, message_classes

_MESSAGES: Final[Mapping[str, Fields]] = {
    "Meta": {
        1: ("created_millis", INT64),
        2: ("version", INT32),
        3: ("references", INT64),
        4: ("commits", INT64),
        5: ("reference_files", TEXTS),
        6: ("commit_files", TEXTS),
        7: ("nessie_version", TEXT),
        8: ("objects", INT64),
        9: ("object_files", TEXTS),
    },
    "Heads": {1: ("heads", MANY_BYTES), 2: ("fork_points", MANY_BYTES), 3: ("started_micros", INT64)},
    "Ref": {2: ("name", TEXT), 3: ("pointer", BYTES)},
    "NamedReference": {1: ("kind", INT32), 2: ("name", TEXT), 3: ("pointer", BYTES)},
    "Header": {1: ("name", TEXT), 2: ("values", TEXTS)},
    "Operation": {
        1: ("kind", INT32),
        2: ("key", TEXTS),
        3: ("content_id", TEXT),
        4: ("payload", INT32),
        5: ("value", BYTES),
    },
    "Commit": {
        1: ("id", BYTES),
        2: ("sequence", INT64),
        3: ("parent", BYTES),
        4: ("more_parents", MANY_BYTES),
        5: ("metadata", BYTES),
        6: ("operations", "[Operation]"),
        7: ("created_micros", INT64),
        8: ("message", TEXT),
        9: ("headers", "[Header]"),
    },
    "Description": {
        1: ("properties", MAP),
        2: ("repository", TEXT),
        3: ("oldest_millis", INT64),
        4: ("created_millis", INT64),
        5: ("default_branch", TEXT),
    },
}
"""Fields by message and number. `Ref` is the reference of versions 2 and 3, `NamedReference` that of version 1. A
commit has `metadata` in version 1, `message` and `headers` in later ones.
"""
_found: Final = message_classes("nessie", _MESSAGES)
MetaMessage: Final = _found["Meta"]
"""Description of an export: version, counts and names of files."""
HeadsMessage: Final = _found["Heads"]
RefMessage: Final = _found["Ref"]
NamedReferenceMessage: Final = _found["NamedReference"]
OperationMessage: Final = _found["Operation"]
ExportedCommitMessage: Final = _found["Commit"]
DescriptionMessage: Final = _found["Description"]
"""Description of the repository."""
PUT, DELETE = 0, 1
"""Kinds of operations."""
BRANCH, TAG = 0, 1
"""Kinds of references in version 1."""
META_FILE, HEADS_FILE, DESCRIPTION_FILE = "export-metadata", "heads-and-forks", "repository-description"
EMPTY_ID: Final = "2e1cfa82b035c26cbbbdae632cea070514eb8b773f616aaeaf668e2f0be8f10d"
"""Id that Nessie uses where there is no commit: the SHA-256 of `empty`."""
HEADS_PREFIX, TAGS_PREFIX = "refs/heads/", "refs/tags/"
