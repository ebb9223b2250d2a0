"""Metadata that an IO manager attaches to its outputs, so that a publication can compare them with the merged commit.

Every IO manager of this package calls `written` after a write and adds the result to the metadata of the output.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import dagster as dg

if TYPE_CHECKING:
    from graveler_core.facade.snapshot import Snapshot

BRANCH = "graveler/branch"
"""Metadata: name of the branch on which the table was written."""
CONTENT = "graveler/content"
"""Metadata: digest of the table after the write."""
REPLACED = "graveler/replaced"
"""Metadata: JSON list of the prefixes whose former content the write replaced."""
STATE = "graveler/state"
"""Metadata: state of a table (`unpublished`, `published`) or of a publication (also `kept`, `nothing to publish`,
`already published`)."""
UNPUBLISHED = "unpublished"
PUBLISHED = "published"


def written(at: Snapshot, table: str, replaced: Sequence[str] = ()) -> dict[str, Any]:
    """Return the metadata of a materialization, immediately after the table was written.

    Args:
        at: The branch with its staged changes, as `GravelerBranch.open_for_reading` returns it.
        table: Path of the table in the repository, without a slash at the end.
        replaced: Prefixes whose former content the write replaced: the table or its partitions, each with a slash at
            the end. Empty for a write that only added files.

    Returns:
        Metadata by key, for `OutputContext.add_output_metadata`.
    """
    return {
        BRANCH: at.ref,
        STATE: UNPUBLISHED,
        CONTENT: content_digest(at, table),
        REPLACED: dg.MetadataValue.json(list(replaced)),
    }


def content_digest(at: Snapshot, table: str) -> str:
    """Return a digest of the paths and identities of a table's entries.

    Staged and committed entries give the same digest. The digest does not depend on the batches of the listing, because
    keys, their lengths and identities are hashed as three streams.

    Args:
        at: The state to read.
        table: Path of the table in the repository, without a slash at the end.

    Returns:
        The digest as hexadecimal text. A table without entries has a digest too.
    """
    import pyarrow.compute as pc

    keys, lengths, identities = hashlib.sha256(), hashlib.sha256(), hashlib.sha256()
    for batch in at.to_arrow(f"{table}/"):
        key, identity = batch.column("key"), batch.column("identity")
        keys.update(b"".join(key.to_pylist()))
        lengths.update(pc.binary_length(key).to_numpy(zero_copy_only=False).astype("<i4").tobytes())
        identities.update(b"".join(identity.to_pylist()))
    return hashlib.sha256(keys.digest() + lengths.digest() + identities.digest()).hexdigest()
