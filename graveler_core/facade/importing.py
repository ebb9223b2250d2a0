"""Importing what lies in an object store already. Thin, as `repository`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from graveler_core.engine.draft import Draft
from graveler_core.engine.importing import ImportRequest, Inventory, Objects, Outcome, Prefix, Progress, import_objects
from graveler_core.errors import InvalidInput, Kind
from graveler_core.facade.handle import Handle
from graveler_core.facade.history import CommitRecord, commit_record
from graveler_core.model.address import namespace, parted
from graveler_core.model.changes import ChangeSummary
from graveler_core.model.importing import ImportMode, InvalidKey
from graveler_core.model.names import branch_id


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


class Importing(Handle):
    """The part of a repository that takes over objects without copying them."""

    def import_prefix(  # noqa: PLR0913 - one call, all of it optional
        self,
        uri: str,
        into: str,
        destination: str = "",
        *,
        mode: str = "add",
        include: Iterable[str] = (),
        exclude: Iterable[str] = (),
        message: str = "",
        committer: str = "",
        metadata: Mapping[str, str] | None = None,
        skip_invalid: bool = False,
        dry_run: bool = False,
        idempotency_key: str = "",
        progress: Progress = lambda more: None,
    ) -> Imported:
        """Import everything below a place of an object store in one commit, copying nothing.

        The entries name the objects where they lie; from then on these must not be changed. What is staged on the
        branch stays staged. A second import finds what changed since.

        Args:
            uri: The place: file:///…, s3://bucket/…, gs://…, az://…, memory://…; a directory, not a part of a name.
            into: The branch.
            destination: The directory on the branch to import into; "" for the top.
            mode: "add" keeps what the destination holds besides; with "replace" it becomes exactly what is imported.
            include: Globs over keys below the place: one must match. `*` and `?` stay within a name, `**` does not.
            exclude: Globs of which none may match.
            message: Of the commit; else it names the source.
            skip_invalid: Leave out objects whose keys are no valid paths, instead of refusing the import.
            dry_run: Only count.
            idempotency_key: Names this call; a later call of the same key gives the commit that this one made.
            progress: Told how many more objects were listed, on whatever thread lists them.

        Raises:
            NoChanges: the branch holds all of it as it is; `details["commit"]` is the head.
            DirtyBranch: paths of the import (with "replace": of the destination) are staged.
            NotFound: (`ObjectNotFound`) there are no objects.
            InvalidInput: (`InvalidPath`) keys that are no valid paths: `details["invalid"]` has the first hundred of
                `details["count"]`; (`NamespaceInUse`) the place overlaps the storage namespace of a repository.
        """
        request = ImportRequest(
            Prefix(namespace(uri)),
            branch_id(into),
            destination,
            _mode(mode),
            tuple(include),
            tuple(exclude),
            skip_invalid,
            dry_run,
        )
        draft = Draft(message, committer, metadata or {}, idempotency_key=idempotency_key)
        return _imported(import_objects(self._stores, self.id, request, draft, progress))

    def import_inventory(  # noqa: PLR0913 - one call, all of it optional
        self,
        inventory: str,
        uri: str,
        into: str,
        destination: str = "",
        *,
        mode: str = "add",
        include: Iterable[str] = (),
        exclude: Iterable[str] = (),
        message: str = "",
        committer: str = "",
        metadata: Mapping[str, str] | None = None,
        skip_invalid: bool = False,
        dry_run: bool = False,
        idempotency_key: str = "",
        progress: Progress = lambda more: None,
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
        request = ImportRequest(
            Inventory(inventory, namespace(uri)),
            branch_id(into),
            destination,
            _mode(mode),
            tuple(include),
            tuple(exclude),
            skip_invalid,
            dry_run,
        )
        draft = Draft(message, committer, metadata or {}, idempotency_key=idempotency_key)
        return _imported(import_objects(self._stores, self.id, request, draft, progress))

    def import_objects(  # noqa: PLR0913 - one call, all of it optional
        self,
        objects: Mapping[str, str] | Iterable[str],
        into: str,
        destination: str = "",
        *,
        message: str = "",
        committer: str = "",
        metadata: Mapping[str, str] | None = None,
        dry_run: bool = False,
        idempotency_key: str = "",
    ) -> Imported:
        """Import single objects in one commit, copying nothing. Each is asked for, which costs a request.

        Args:
            objects: URIs by path below the destination; or URIs alone, each to its own name.

        Raises:
            NotFound: (`ObjectNotFound`) some are not there: `details["uris"]` has the first hundred.
            Whatever else `import_prefix` raises.
        """
        request = ImportRequest(Objects(_by_path(objects)), branch_id(into), destination, dry_run=dry_run)
        draft = Draft(message, committer, metadata or {}, idempotency_key=idempotency_key)
        return _imported(import_objects(self._stores, self.id, request, draft))


def _mode(mode: str) -> ImportMode:
    try:
        return ImportMode(mode)
    except ValueError:
        raise InvalidInput(f"mode {mode!r}: must be one of {', '.join(ImportMode)}") from None


def _by_path(objects: Mapping[str, str] | Iterable[str]) -> Mapping[str, str]:
    if isinstance(objects, str):
        raise InvalidInput(f"objects {objects!r}: must be a list of URIs, or URIs by path")
    if isinstance(objects, Mapping):
        return dict(objects)
    found: dict[str, str] = {}
    for uri in objects:
        name = parted(uri)[1].rpartition("/")[2]
        if name in found:
            raise InvalidInput(
                f"objects: {found[name]!r} and {uri!r} have one name; give them by path",
                kind=Kind.InvalidPath,
                path=name,
            )
        found[name] = uri
    return found


def _imported(outcome: Outcome) -> Imported:
    commit = None if outcome.commit is None else commit_record(outcome.commit)
    if outcome.tally is None:
        return Imported(commit, outcome.changes)
    tally = outcome.tally
    counts = tally.objects, tally.size, tally.markers, tally.unmatched, tally.invalid
    return Imported(commit, outcome.changes, *counts, tally.examples)
