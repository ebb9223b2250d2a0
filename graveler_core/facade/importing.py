"""Importing what lies in an object store already. Thin, as `repository`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypedDict, Unpack

from graveler_core.engine.draft import Draft
from graveler_core.engine.importing import (
    ImportRequest,
    Inventory,
    Objects,
    Outcome,
    Prefix,
    Progress,
    Source,
    import_objects,
)
from graveler_core.errors import InvalidInput
from graveler_core.facade import importable, needs
from graveler_core.facade.handle import Handle
from graveler_core.facade.history import CommitRecord, commit_record
from graveler_core.facade.operation import operation
from graveler_core.model.address import namespace
from graveler_core.model.changes import ChangeSummary
from graveler_core.model.importing import ImportMode, InvalidKey
from graveler_core.model.names import branch_id
from graveler_core.model.permission import Action


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did, or, as a dry run, would do."""

    commit: CommitRecord | None
    """The commit that it made; None for a dry run."""
    changes: ChangeSummary | None
    """How many paths it changed on the branch; None where an earlier call under the same key made the commit, of which
    nothing else is known: then all numbers below are 0."""
    objects: int = 0
    """Objects that were imported."""
    size: int = 0
    """Bytes of them, all left where they lie."""
    markers: int = 0
    """Empty objects left out for they only mark a directory."""
    unmatched: int = 0
    """Objects left out by `include` and `exclude`."""
    invalid: int = 0
    """Objects left out for their keys are no valid paths."""
    examples: tuple[InvalidKey, ...] = ()
    """The first hundred of those."""


class ImportOptions(TypedDict, total=False):
    """What all imports take."""

    message: str
    """Of the commit; else it names the source."""
    committer: str
    metadata: Mapping[str, str]
    allow_empty: bool
    """Make the commit even if it changes nothing."""
    dry_run: bool
    """Only count what would change; write nothing."""
    idempotency_key: str
    """Names this call; a later call of the same key gives the commit that this one made."""
    mode: str
    """With "add", or nothing, what the destination holds besides stays; with "replace" it becomes what is imported."""
    include: Iterable[str]
    """Globs over keys below the place, or the paths of single objects: one must match. `*` and `?` stay within a name,
    `**` does not."""
    exclude: Iterable[str]
    """Globs of which none may match."""
    skip_invalid: bool
    """Leave out objects whose keys are no valid paths, instead of refusing the import."""
    progress: Progress
    """Told how many more objects were listed, on whatever thread lists them."""


class Importing(Handle):
    """The part of a repository that takes over objects without copying them."""

    @operation(
        "import",
        needs.branch(Action.CREATE_COMMIT, named="into"),
        importable.place,
        needs.signed(options="options"),
        branch="into",
    )
    def import_prefix(self, uri: str, into: str, destination: str = "", **options: Unpack[ImportOptions]) -> Imported:
        """Import everything below a place of an object store in one commit, copying nothing.

        The entries name the objects where they lie; from then on these must not be changed. What is staged on the
        branch stays staged. A second import finds what changed since.

        Args:
            uri: The place: file:///…, s3://bucket/…, gs://…, az://…, memory://…; a directory, not a part of a name.
            into: The branch.
            destination: The directory on the branch to import into; "" for the top.
            options: Those of `ImportOptions`: mode, globs, message, key, …

        Raises:
            NoChanges: the branch holds all of it as it is; `details["commit"]` is the head.
            DirtyBranch: paths of the import (with "replace": of the destination) are staged.
            NotFound: (`ObjectNotFound`) there are no objects.
            InvalidInput: (`InvalidPath`) keys that are no valid paths: `details["invalid"]` has the first hundred of
                `details["count"]`; (`NamespaceInUse`) the place overlaps the storage namespace of a repository.
        """
        return self._import(Prefix(namespace(uri)), (into, destination), **options)

    @operation(
        "import",
        needs.branch(Action.CREATE_COMMIT, named="into"),
        importable.inventory,
        needs.signed(options="options"),
        branch="into",
    )
    def import_inventory(
        self, inventory: str, uri: str, into: str, destination: str = "", **options: Unpack[ImportOptions]
    ) -> Imported:
        """As `import_prefix`, from an inventory instead of a listing.

        Args:
            inventory: A Parquet file, or a directory of which all Parquet files are read. Columns `key` and `size`, and
                if there are `e_tag` or `etag`, `last_modified_date` or `last_modified`, `bucket`, `is_latest` and
                `is_delete_marker`: as S3 Inventory writes them. Keys are whole keys of the bucket, in any order.
            uri: The place to import: the inventory's rows below it.

        Raises:
            InvalidInput: (`InvalidValue`) the inventory lacks a column, or has one that is of no use; a key is listed
                twice.
        """
        return self._import(Inventory(inventory, namespace(uri)), (into, destination), **options)

    @operation(
        "import",
        needs.branch(Action.CREATE_COMMIT, named="into"),
        importable.objects,
        needs.signed(options="options"),
        branch="into",
    )
    def import_objects(
        self,
        objects: Mapping[str, str] | Iterable[str],
        into: str,
        destination: str = "",
        **options: Unpack[ImportOptions],
    ) -> Imported:
        """Import single objects in one commit, copying nothing. Each is asked for, which costs a request.

        Args:
            objects: URIs by path below the destination; or URIs alone, each to its own name.

        Raises:
            NotFound: (`ObjectNotFound`) some are not there: `details["uris"]` has the first hundred.
            Whatever else `import_prefix` raises.
        """
        return self._import(Objects(importable.by_path(objects)), (into, destination), **options)

    def _import(  # noqa: PLR0913 - the options, with what they are if they are not given
        self,
        source: Source,
        where: tuple[str, str],
        *,
        mode: str = ImportMode.ADD,
        include: Iterable[str] = (),
        exclude: Iterable[str] = (),
        message: str = "",
        committer: str = "",
        metadata: Mapping[str, str] | None = None,
        skip_invalid: bool = False,
        allow_empty: bool = False,
        dry_run: bool = False,
        idempotency_key: str = "",
        progress: Progress = lambda more: None,
    ) -> Imported:
        into, destination = where
        globs = _globs(include), _globs(exclude)
        request = ImportRequest(source, branch_id(into), destination, _mode(mode), *globs, skip_invalid, dry_run)
        draft = Draft(message, committer, metadata or {}, allow_empty, idempotency_key)
        return _imported(import_objects(self._stores, self.id, request, draft, progress))


def _globs(globs: Iterable[str]) -> tuple[str, ...]:
    if isinstance(globs, str):
        raise InvalidInput(f"globs {globs!r}: must be a list of globs")
    return tuple(globs)


def _mode(mode: str) -> ImportMode:
    try:
        return ImportMode(mode)
    except ValueError:
        raise InvalidInput(f"mode {mode!r}: must be one of {', '.join(ImportMode)}") from None


def _imported(outcome: Outcome) -> Imported:
    commit = None if outcome.commit is None else commit_record(outcome.commit)
    if outcome.tally is None:
        return Imported(commit, outcome.changes)
    tally = outcome.tally
    counts = tally.objects, tally.size, tally.markers, tally.unmatched, tally.invalid
    return Imported(commit, outcome.changes, *counts, tally.examples)
