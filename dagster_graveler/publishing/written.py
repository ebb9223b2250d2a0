"""Metadata that an IO manager attaches to its outputs, so that a publication can compare them with the merged commit.

Every IO manager of this package calls `written` after a write and adds the result to the metadata of the output.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import dagster as dg

from dagster_graveler.listing import batches_of_one_state
from dagster_graveler.partition_directories import directory

if TYPE_CHECKING:
    from graveler_core.facade.snapshot import Snapshot

BRANCH = "graveler/branch"
"""Metadata: name of the branch on which the table was written."""
CONTENT = "graveler/content"
"""Metadata: digest of the table after the write."""
REPLACED = "graveler/replaced"
"""Metadata: JSON list of the prefixes whose former content the write replaced, or a pattern of `partition_pattern`."""
ADDED = "graveler/added"
"""Metadata: the prefixes below which the write only added files, as in `graveler/replaced`."""
STATE = "graveler/state"
"""Metadata: state of a table (`unpublished`, `published`) or of a publication (also `kept`, `nothing to publish`,
`already published`)."""
_KEY_SEPARATOR = "|"
"""Dagster's separator of the dimensions in the key of a partition. They are ordered by name."""
Prefixes = Sequence[str] | Mapping[str, Any]
"""Prefixes that end in a slash, or the result of `partition_pattern`."""
UNPUBLISHED = "unpublished"
PUBLISHED = "published"


def written(at: Snapshot, table: str, replaced: Prefixes = (), added: Prefixes = ()) -> dict[str, Any]:
    """Return the metadata of a materialization, immediately after the table was written.

    Args:
        at: The branch with its staged changes, as `GravelerBranch.open_after_write` returns it.
        table: Path of the table in the repository, without a slash at the end.
        replaced: Prefixes whose former content the write replaced: the table or its partitions, each with a slash at
            the end. Empty for a write that only added files. A write of many partitions gives the result of
            `partition_pattern`, because Dagster repeats the metadata for each partition.
        added: The same for a write that only added files: the table or its partitions. If both are empty, the write may
            have put files anywhere in the table.

    Returns:
        Metadata by key, for `OutputContext.add_output_metadata`.
    """
    return {
        BRANCH: at.ref,
        STATE: UNPUBLISHED,
        CONTENT: content_digest(at, table),
        REPLACED: _json(replaced),
        **({ADDED: _json(added)} if added else {}),
    }


def _json(prefixes: Prefixes) -> dg.JsonMetadataValue:
    return dg.MetadataValue.json(dict(prefixes) if isinstance(prefixes, Mapping) else list(prefixes))


def partition_pattern(table: str, names: Sequence[str]) -> dict[str, Any]:
    """Return what stands for the directory of the partition of a materialization.

    Args:
        table: Path of the table in the repository, without a slash at the end.
        names: Names of the partition directories, one for each dimension, in the order of the names of the dimensions.
    """
    return {"table": table, "names": list(names)}


def partition_prefixes(stored: Any, partition: str | None) -> list[str]:
    """Return the prefixes that a materialization replaced, or to which it added files.

    Args:
        stored: Value of the metadata `graveler/replaced` or `graveler/added`.
        partition: Partition of the materialization.
    """
    if isinstance(stored, list):
        return [str(prefix) for prefix in stored]
    if not isinstance(stored, Mapping) or partition is None:
        return []
    names = [str(name) for name in stored["names"]]
    values = partition.split(_KEY_SEPARATOR) if len(names) > 1 else [partition]
    return [f"{stored['table']}/{directory(names, values)}"]


def content_digest(at: Snapshot, table: str, before_batch: Callable[[], None] | None = None) -> str:
    """Return a digest of the paths and identities of a table's entries, as they were together at one moment.

    Staged and committed entries give the same digest. The digest does not depend on the batches of the listing, because
    keys, their lengths and identities are hashed as three streams.

    Args:
        at: The state to read.
        table: Path of the table in the repository, without a slash at the end.
        before_batch: Function that is called before each batch of the listing, and may raise an exception to end it.
            A live branch is then listed page by page, and pages of different states give a digest of no state.

    Returns:
        The digest as hexadecimal text. A table without entries has a digest too.
    """
    import pyarrow.compute as pc

    keys, lengths, identities = hashlib.sha256(), hashlib.sha256(), hashlib.sha256()
    prefix = f"{table}/"
    for batch in batches_of_one_state(at, prefix) if before_batch is None else at.to_arrow(prefix):
        if before_batch is not None:
            before_batch()
        key, identity = batch.column("key"), batch.column("identity")
        keys.update(b"".join(key.to_pylist()))
        lengths.update(pc.binary_length(key).to_numpy(zero_copy_only=False).astype("<i4").tobytes())
        identities.update(b"".join(identity.to_pylist()))
    return hashlib.sha256(keys.digest() + lengths.digest() + identities.digest()).hexdigest()
