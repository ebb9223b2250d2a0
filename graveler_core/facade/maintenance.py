"""Checks, repairs, garbage collection, and compaction settings of a repository."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta

from graveler_core.engine.compacting.history import BranchCompactions, histories
from graveler_core.engine.staging import pressure
from graveler_core.erasure.flow import resume
from graveler_core.errors import InvalidInput, PermissionDenied
from graveler_core.facade.handle import Handle
from graveler_core.facade.listing import Listing, between
from graveler_core.gc.collected import Collected
from graveler_core.gc.collection import collect
from graveler_core.gc.collection_plan import CollectionPlan
from graveler_core.gc.findings import Finding
from graveler_core.gc.fsck import fsck
from graveler_core.gc.index_repair import IndexRepairs, repair_indexes
from graveler_core.gc.layout_removal import LayoutRemovals, remove_damaged_layouts
from graveler_core.gc.stock import Progress
from graveler_core.gc.sweep import GRACE, SweepPlan, Swept, sweep
from graveler_core.guard import imports, needs
from graveler_core.guard.operation import operation
from graveler_core.model.compaction import CompactionSettings, Thresholds
from graveler_core.model.names import branch_id
from graveler_core.model.permission import Action
from graveler_core.model.retention import RetentionRules
from graveler_core.telemetry.events import tell_damaged


class Maintenance(Handle):
    """Maintenance of one repository."""

    @operation("fsck", needs.repository(Action.CHECK_REPOSITORY), needs.checked_data(Action.LIST_OBJECTS))
    def fsck(  # noqa: PLR0913 - the options of a check
        self,
        *,
        deep: bool = False,
        data: bool = False,
        checksums: bool = False,
        resume: bool = False,
        progress: Progress = lambda more: None,
        remaining: Progress = lambda more: None,
    ) -> Iterator[Finding]:
        """Check all stored data of the repository, lazily: see `graveler_core.gc.fsck`. Change nothing,
        except that a check of content is recorded. An incomplete repository gives one finding.

        Args:
            deep: Also read every range, run and staged record, and compare each commit with its first parent.
            data: Also check that every object to which an entry refers exists and has the right size: see
                `graveler_core.gc.data_check`.
            checksums: Also read these objects, each once, and compare them with the checksums of entries. Implies
                `data`.
            resume: With `checksums`, continue the last check that was interrupted, if there is one.
            progress: Called with the number of items examined since the last call.
            remaining: With `checksums`, called with the number of objects to read, once it is known.

        Yields:
            The problems that were found.

        Raises:
            InvalidInput: `resume` without `checksums`.
            NotFound: the repository has been deleted.
        """
        if resume and not checksums:
            raise InvalidInput("resume: needs checksums, because only a check of checksums can be resumed")
        return fsck(
            self._stores,
            self._existing(),
            deep=deep,
            data=data,
            checksums=checksums,
            resume=resume,
            progress=progress,
            remaining=remaining,
        )

    @operation("repair indexes", needs.repository(Action.CHECK_REPOSITORY, Action.UPDATE_REPOSITORY))
    def repair_indexes(self, *, progress: Progress = lambda more: None) -> IndexRepairs:
        """Mark the changes of each commit in its inline index, if `fsck` finds that the marks are missing.

        Commit ids, tree ids and content do not change. Other work may continue: see `graveler_core.gc.index_repair`.

        Args:
            progress: Called with the number of records read since the last call.

        Returns:
            The commits that were repaired, and those that could not be.

        Raises:
            NotFound: the repository has been deleted.
        """
        return repair_indexes(self._stores, self._active(), progress)

    @operation("remove damaged layouts", needs.repository(Action.CHECK_REPOSITORY, Action.COLLECT_GARBAGE))
    def remove_damaged_layouts(self, *, progress: Progress = lambda more: None) -> LayoutRemovals:
        """Delete layouts that are damaged and whose commits do not exist, if `fsck` reports some. It takes a minute.

        Such a layout prevents sweeps. See `graveler_core.gc.layout_removal`. If the commit exists in a copy of the
        store, restore its header and its layout from there instead. A later sweep deletes files to which only the
        layout referred.

        Also let collections remove commits that a killed process has written only in part, before the second collection
        of the repository. Such a commit prevents collections and erasures. If the missing part exists in a copy of the
        store, restore it from there instead.

        Args:
            progress: Called with the number of records read since the last call.

        Returns:
            The commits whose layouts were deleted, those whose layouts were kept because something refers to them, and
            the incomplete commits that the next collections remove.

        Raises:
            CorruptData: a header, branch or tag is damaged. No layout was deleted.
            InvalidInput: the repository is bare.
            NotFound: the repository has been deleted.
        """
        return remove_damaged_layouts(self._stores, self._active(), progress)

    @operation("show thresholds", needs.repository(Action.READ_REPOSITORY))
    def thresholds(self) -> CompactionSettings:
        """Return the thresholds above which branches should be compacted.

        Returns:
            The thresholds of all branches, and those of single branches.

        Raises:
            NotFound: the repository has been deleted.
        """
        return pressure.settings_of(self._stores, self._active())

    @operation("set thresholds", needs.repository(Action.UPDATE_REPOSITORY))
    def set_thresholds(self, thresholds: Thresholds | None, branch: str | None = None) -> CompactionSettings:
        """Set the compaction thresholds of all branches or of one branch.

        Args:
            thresholds: The thresholds. `None` restores the default.
            branch: Name of the branch. `None` means all branches.

        Returns:
            The thresholds of all branches, and those of single branches.

        Raises:
            InvalidInput: a threshold or the name is not valid.
        """
        name = None if branch is None else branch_id(branch)
        return pressure.set_thresholds(self._stores, self._active(), thresholds, name)

    @operation("list compactions", needs.repository(Action.LIST_BRANCHES))
    def compactions(self, prefix: str = "", after: str = "", limit: int | None = None) -> Listing[BranchCompactions]:
        """List the recorded compactions by branch, ordered by name, lazily. Branches that were never compacted are left
        out, and so are branches whose records cannot be read, which are logged.

        Args:
            prefix: List only branches whose names begin with this.
            after: List only branches with a greater name.
            limit: Maximum number of branches. `None` means all.

        Returns:
            A listing of branches. The token of an item is its name.

        Raises:
            InvalidInput: an argument is not valid.
        """
        names = between(prefix, after)
        found = histories(self._stores, self._active(), **names, damaged=tell_damaged)
        return Listing(found, lambda item: item.branch, limit)

    @operation("sweep", needs.repository(Action.COLLECT_GARBAGE))
    def sweep(
        self,
        *,
        grace: timedelta = GRACE,
        dry_run: bool = False,
        limit: int | None = None,
        alone: bool = False,
        uploads: bool = False,
    ) -> Swept:
        """Delete objects to which no commit and no branch refers and that are older than a grace period: see
        `graveler_core.gc.sweep`.

        Args:
            grace: Minimum age of objects to delete. It must exceed the duration of any build, and be at least a day
            unless `alone` is true.
            dry_run: Only report the objects that would be deleted.
            limit: Maximum number of objects to delete. `None` means all.
            alone: Assert that no other process works on the repository.
            uploads: Also delete files that jobs uploaded without committing them: see `graveler_core.gc.uploads`.

        Returns:
            Numbers and sizes of the deleted objects.

        Raises:
            InvalidInput: the grace period is too short.
        """
        return sweep(self._stores, self._active(), SweepPlan(grace, dry_run, limit, alone, uploads))

    @operation("collect", needs.repository(Action.COLLECT_GARBAGE), imports.optional_inventory)
    def collect(  # noqa: PLR0913 - one call, all of it optional
        self,
        *,
        grace: timedelta = GRACE,
        dry_run: bool = False,
        alone: bool = False,
        foreign: bool = False,
        inventory: str | None = None,
        rules: RetentionRules | None = None,
        progress: Progress = lambda more: None,
    ) -> Collected:
        """Delete content that nothing needs, and commits that no branch or tag has ever reached: see
        `graveler_core.gc.collection`.

        Content is not needed if no commit, no staged change and no upload refers to it, or only commits that no
        retention rule keeps.

        A first call condemns such content: it cannot be staged any more, but still exists. A call after the grace
        period deletes content to which nothing refers then, and condemns more. Run it once a day. It also completes an
        interrupted erasure.

        Args:
            grace: Minimum age of content to condemn, and minimum time between condemning and deleting. It must exceed
                the duration of any upload or write, and be at least a day unless `alone` is true.
            dry_run: Only report what would be condemned or deleted.
            alone: Assert that no other process works on the repository. With a grace period of zero, content is
                deleted at once.
            foreign: Also collect objects in the storage namespace that graveler has not created.
            inventory: URI of an inventory to read instead of listing the storage namespace: a manifest
                (`manifest.json`) of S3 Inventory with Parquet or CSV files, a Parquet file, or a directory of such
                files. It needs the columns `key`, `size` and `last_modified_date`. Each object without a
                reference is looked up before it is condemned.
            rules: Retention rules to apply in a dry run, such as `RetentionRules(days=30)`. `None` means those of the
                repository.
            progress: Called with the number of items examined since the last call.

        Returns:
            Numbers and sizes of the objects, and numbers of commits.

        Raises:
            InvalidInput: the grace period is too short, the repository is bare, or the inventory is damaged.
            CorruptData: an item that refers to content is damaged. Nothing was condemned or deleted.
            NotFound: the repository has been deleted, or the inventory does not exist.
            Unavailable: the store refuses to delete some objects, which are listed in `details["failed"]`. All others
                are deleted. Or it refuses to delete objects of an erasure that was interrupted. The collection itself
                has ended.
        """
        plan, repository = CollectionPlan(grace, dry_run, alone, foreign, inventory, rules), self._active()
        undeleted = None
        if not dry_run:
            with suppress(PermissionDenied):  # a branch is protected now; the list of erasures shows it
                undeleted = resume(self._stores, repository, progress=progress)
        collected = collect(self._stores, repository, plan, progress=progress)
        if undeleted is not None:
            raise undeleted
        return collected
