"""Imports of objects that an object store already holds. Every method only delegates to `engine`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypedDict, Unpack

from graveler_core.engine.committing.draft import Draft
from graveler_core.engine.importing import (
    ImportOutcome,
    ImportRequest,
    ImportSource,
    Inventory,
    Prefix,
    Progress,
    import_objects,
    named_sources,
)
from graveler_core.errors import InvalidInput
from graveler_core.facade.handle import Handle
from graveler_core.facade.history import CommitRecord, commit_record
from graveler_core.guard import imports, needs
from graveler_core.guard.operation import operation
from graveler_core.model.address import namespace
from graveler_core.model.changes import ChangeSummary
from graveler_core.model.importing import ImportMode, InvalidKey
from graveler_core.model.names import branch_id
from graveler_core.model.permission import Action


@dataclass(frozen=True, slots=True)
class Imported:
    """Result of an import, or, for a dry run, the result that it would have."""

    commit: CommitRecord | None
    """The commit that the import created; `None` for a dry run."""
    changes: ChangeSummary | None
    """Numbers of paths changed on the branch. `None` if an earlier call with the same idempotency key created the
    commit: the numbers below are then unknown and 0.
    """
    objects: int = 0
    """Number of imported objects."""
    size: int = 0
    """Total size of the imported objects, in bytes. They are not copied."""
    markers: int = 0
    """Number of empty objects left out because they only mark a directory."""
    unmatched: int = 0
    """Number of objects left out by `include` and `exclude`."""
    invalid: int = 0
    """Number of objects left out because their keys are not valid paths."""
    examples: tuple[InvalidKey, ...] = ()
    """The first hundred keys that are not valid paths."""


class ImportOptions(TypedDict, total=False):
    """Options of all imports. All are optional."""

    message: str
    """Message of the commit. By default it names the source."""
    committer: str
    metadata: Mapping[str, str]
    allow_empty: bool
    """Create the commit even if it changes nothing. Default: false."""
    dry_run: bool
    """Only count the changes; write nothing. Default: false."""
    idempotency_key: str
    """Name of this call. A later call with the same key returns the commit that this call created."""
    mode: str
    """"add" (default) keeps the other entries of the destination; "replace" removes them."""
    include: Iterable[str]
    """Globs for keys below the directory, or for paths of single objects. If any are given, one must match. `*` and `?`
    match within one name, `**` across names.
    """
    exclude: Iterable[str]
    """Globs for keys to leave out."""
    skip_invalid: bool
    """Leave out objects whose keys are not valid paths, instead of refusing the import. Default: false."""
    progress: Progress
    """Called with the number of objects listed since the last call, in any thread."""


class Importing(Handle):
    """Methods of `Repository` that import objects without copying them."""

    @operation(
        "import",
        needs.branch(Action.CREATE_COMMIT, named="into"),
        imports.place,
        needs.committer(options="options"),
        branch="into",
    )
    def import_prefix(self, uri: str, into: str, destination: str = "", **options: Unpack[ImportOptions]) -> Imported:
        """Import everything below a directory of an object store in one commit, without copying.

        The entries contain the addresses of the objects, which must not be changed afterwards. Staged changes on the
        branch remain staged. A repeated import finds what has changed since.

        Args:
            uri: URI of the directory: file:///…, s3://bucket/…, gs://…, az://…, memory://…. It ends at a directory,
            not within a name.
            into: Name of the branch.
            destination: Directory on the branch to import into; "" for the root.
            options: Options of `ImportOptions`: mode, globs, message, idempotency key and others.

        Returns:
            The commit, and numbers of the imported objects and changes.

        Raises:
            NoChanges: the branch already has all entries; `details["commit"]` is the head.
            DirtyBranch: paths of the import (with "replace": of the destination) are staged.
            NotFound: (`ObjectNotFound`) the directory contains no objects.
            InvalidInput: (`InvalidPath`) keys are not valid paths: `details["invalid"]` has the first hundred of
            `details["count"]`; (`NamespaceInUse`) the directory overlaps the storage namespace of a repository.
        """
        return self._import(Prefix(namespace(uri)), (into, destination), **options)

    @operation(
        "import",
        needs.branch(Action.CREATE_COMMIT, named="into"),
        imports.inventory,
        needs.committer(options="options"),
        branch="into",
    )
    def import_inventory(
        self, inventory: str, uri: str, into: str, destination: str = "", **options: Unpack[ImportOptions]
    ) -> Imported:
        """Import objects from an inventory instead of a listing; otherwise the same as `import_prefix`.

        Args:
            inventory: URI of a manifest of S3 Inventory (`manifest.json`) with Parquet or CSV files, of a Parquet file,
            or of a directory whose Parquet files are all read. Required columns: `key` and `size`. Optional columns:
            `e_tag` or `etag`, `last_modified_date` or `last_modified`, `bucket`, `is_latest`, `is_delete_marker`, as
            written by S3 Inventory. Keys are complete keys of the bucket, in any order.
            uri: URI of the directory to import: the rows below it.
            into: Name of the branch.
            destination: Directory on the branch to import into; "" for the root.
            options: Options of `ImportOptions`.

        Returns:
            The commit, and numbers of the imported objects and changes.

        Raises:
            InvalidInput: (`InvalidValue`) a required column is missing, a column has an unusable type, or a key
            occurs twice.
            GravelerError: any other error of `import_prefix`.
        """
        return self._import(Inventory(namespace(uri), inventory), (into, destination), **options)

    @operation(
        "import",
        needs.branch(Action.CREATE_COMMIT, named="into"),
        imports.objects,
        needs.committer(options="options"),
        branch="into",
    )
    def import_objects(
        self,
        objects: Mapping[str, str] | Iterable[str],
        into: str,
        destination: str = "",
        **options: Unpack[ImportOptions],
    ) -> Imported:
        """Import single objects and directories in one commit, without copying. Each object costs one request.

        Args:
            objects: URIs by path below the destination, or only URIs: each is then imported under its own name. A URI
                that ends in a slash stands for everything below this directory.
            into: Name of the branch.
            destination: Directory on the branch to import into; "" for the root.
            options: Options of `ImportOptions`.

        Returns:
            The commit, and numbers of the imported objects and changes.

        Raises:
            NotFound: (`ObjectNotFound`) some objects do not exist: `details["uris"]` has the first hundred; or a
            directory contains no objects.
            InvalidInput: (`InvalidPath`) the path of a directory lies within that of another one, or two objects have
            the same path.
            GravelerError: any other error of `import_prefix`.
        """
        return self._import(named_sources(imports.by_path(objects)), (into, destination), **options)

    def _import(  # noqa: PLR0913 - the options, with what they are if they are not given
        self,
        source: ImportSource,
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


def _imported(outcome: ImportOutcome) -> Imported:
    commit = None if outcome.commit is None else commit_record(outcome.commit)
    if outcome.tally is None:
        return Imported(commit, outcome.changes)
    tally = outcome.tally
    counts = tally.objects, tally.size, tally.markers, tally.unmatched, tally.invalid
    return Imported(commit, outcome.changes, *counts, tally.examples)
