"""A write that is not committed: its files are staged, for whoever commits the branch with all that is staged there.

Meant for a branch that one run alone works on. An overwrite takes two steps, each of which all readers see at once or
not at all: what will not be replaced is removed, then the files are staged. A crash in between, or before, leaves a
branch that nobody has committed; the write is repeated, and ends the same.

Files are numbered in their directory, by the order of the tasks: the same rows, written again in the same order, are
the same paths with the same checksums. So they are no change, whoever wrote them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress

import pyarrow as pa

from graveler_core.errors import GravelerError
from graveler_core.facade.branch import Branch
from graveler_core.model.entry import Entry
from jobs.source.target import Target
from jobs.source.upload import File, Uploaded, ids_of, upload_columns, uploads_of

_FIELDS = ("address", "address_type", "size", "checksum", "mtime", "content_type")


def stage(target: Target, uploaded: Sequence[Uploaded]) -> None:
    """Stage the files of a write, in place of what the directory held if it is an overwrite.

    Raises:
        Conflict: (`Discarded`) the job took so long that a sweep took it for dead.
        PermissionDenied: the branch is protected, or the repository read-only.
        SlowDown: there are too many layers on the branch: commit or compact it first.
    """
    if target.overwrite and not any(each.files for each in uploaded) and not target.folders:
        uploaded = [upload_columns(target)]
    files = [file for each in uploaded for file in each.files]
    with target.connection.connect() as graveler:
        branch = graveler.repository(target.repository).branch(target.branch)
        entries = {target.path_of(name): file.entry() for name, file in _named(target, files)}
        uploads = uploads_of(target)
        with uploads.naming(ids_of(uploaded)) as named:
            if target.overwrite:
                _remove_others(branch, target, entries)
            branch.stage_many(_table(entries))
        with suppress(GravelerError):  # they are staged; what is left a sweep finds
            uploads.settle(named)


def _named(target: Target, files: Sequence[File]) -> list[tuple[str, File]]:
    """Files, in the order of the tasks, by their names; what is appended keeps names that no other write has."""
    if not target.overwrite:
        return [(file.name, file) for file in files]
    numbered: dict[str, int] = defaultdict(int)
    named = []
    for file in files:
        folder = file.name[: file.name.rfind("/") + 1]
        named.append((f"{folder}part-{numbered[folder]:05}.parquet", file))
        numbered[folder] += 1
    return named


def _remove_others(branch: Branch, target: Target, entries: dict[str, Entry]) -> None:
    former = [entry.path for each in target.replaced() for entry in branch.list(each)]
    branch.remove_many([path for path in former if path not in entries])


def _table(entries: dict[str, Entry]) -> pa.Table:
    columns = {name: [getattr(entry, name) for entry in entries.values()] for name in _FIELDS}
    return pa.table({"key": list(entries), **columns})
