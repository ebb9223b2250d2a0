"""Write without a commit: the files are staged, to be committed with all other staged changes of the branch.

This is for a branch on which a single run works. An overwrite has two steps, each of which is atomic for readers:
remove the files that will not be replaced, then stage the new files. After a crash before or between the steps,
nothing is committed, and repeating the write gives the same result.

An overwrite numbers the files of each directory, in the order of the tasks. If it writes the same rows again in the
same order, the paths and checksums are the same. Such a write changes nothing, even if the first one had another
author. Appended files get names that no other write uses.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress

import pyarrow as pa

from graveler.spark.source.target import Target
from graveler.spark.source.upload import Uploaded, UploadedFile, ids_of, upload_columns, uploads_of
from graveler_core.errors import GravelerError
from graveler_core.facade.branch import Branch
from graveler_core.model.entry import Entry

_FIELDS = ("address", "address_type", "size", "checksum", "mtime", "content_type")


def stage(target: Target, uploaded: Sequence[Uploaded]) -> None:
    """Stage the files of a write. An overwrite replaces the previous content of the directory.

    Raises:
        Conflict: (`Discarded`) The job took so long that a sweep considered it dead.
        PermissionDenied: The branch is protected, or the repository is read-only.
        SlowDown: There are too many layers on the branch: commit or compact it first.
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
        with suppress(GravelerError):  # the files are staged; a sweep finds the rest
            uploads.settle(named)


def _named(target: Target, files: Sequence[UploadedFile]) -> list[tuple[str, UploadedFile]]:
    """Return the files, in the order of the tasks, with their names. Appended files get names that no other write
    uses.
    """
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
