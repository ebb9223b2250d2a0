"""Long operations as tasks: begun here, run by this process or another one, shown to all. They delegate to `engine`."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from graveler_core.engine.importing import Prefix, named_sources, require_apart
from graveler_core.engine.repositories import tasks
from graveler_core.engine.repositories.tasks import Heard
from graveler_core.errors import NotUnique
from graveler_core.facade.dumping import EVERYTHING_READABLE, EVERYTHING_WRITABLE, Dumping
from graveler_core.facade.importing import Importing
from graveler_core.guard import imports, needs
from graveler_core.guard.operation import operation
from graveler_core.model.address import full_address, namespace
from graveler_core.model.ids import CommitId
from graveler_core.model.names import branch_id
from graveler_core.model.permission import Action
from graveler_core.model.tasks import DumpTask, ImportTask, RestoreTask, Task, dump_uri, import_task


class Tasks(Importing, Dumping):
    """Methods of `Repository` for imports, dumps and restorations that outlive a call."""

    @operation(
        "begin import",
        needs.branch(Action.CREATE_COMMIT, named="into"),
        imports.source,
        branch="into",
    )
    def begin_import(  # noqa: PLR0913 - one call, most of it optional
        self,
        into: str,
        destination: str = "",
        *,
        uri: str = "",
        objects: Mapping[str, str] | None = None,
        message: str = "",
        metadata: Mapping[str, str] | None = None,
    ) -> Task:
        """Create a task that imports objects in one commit, for `run_task`: see `import_prefix` and `import_objects`.

        Args:
            into: Name of the branch.
            destination: Directory on the branch to import into; "" for the root.
            uri: URI of the directory to import. Give either this or `objects`.
            objects: URIs by path below the destination, as for `import_objects`.
            message: Message of the commit. By default it names the source.
            metadata: Metadata of the commit.

        Returns:
            The task.

        Raises:
            InvalidInput: an argument is not valid, or both or none of `uri` and `objects` are given;
                (`NamespaceInUse`) the source overlaps the storage namespace of a repository.
            NotFound: the branch does not exist.
        """
        wanted = ImportTask(
            into=branch_id(into),
            destination=destination,
            uri=namespace(uri).uri if uri else "",
            objects={path: _address(each) for path, each in (objects or {}).items()},
            message=message,
            metadata=dict(metadata or {}),
        )
        require_apart(self._stores, Prefix(namespace(uri)) if uri else named_sources(wanted.objects))
        return tasks.begin(self._stores, self._active(), import_task(wanted), self._user)

    @operation("begin dump", *EVERYTHING_READABLE, needs.directory(Action.EXPORT_TO_STORAGE, named="below"))
    def begin_dump(self, below: str) -> Task:
        """Create a task that dumps this repository, for `run_task`: see `dump_refs`.

        Args:
            below: URI of a directory. The file has the id of the task as its name.

        Returns:
            The task.

        Raises:
            InvalidInput: the URI is not valid.
        """
        return tasks.begin(self._stores, self._active(), DumpTask(dump_below=namespace(below).uri), self._user)

    @operation("begin restore", *EVERYTHING_WRITABLE)
    def begin_restore(self, uri: str) -> Task:
        """Create a task that restores a dump into this repository, which must be bare, for `run_task`: see
        `restore_refs`.

        Args:
            uri: URI of the file.

        Returns:
            The task.

        Raises:
            InvalidInput: the URI is not valid.
        """
        return tasks.begin(self._stores, self._active(), RestoreTask(restore=full_address(uri)), self._user)

    @operation("show task", needs.repository(Action.READ_REPOSITORY))
    def task(self, id: str) -> Task:
        """Return a task of this repository, which any process may have begun, run, or ended.

        Args:
            id: Id of the task.

        Returns:
            The task as it is now.

        Raises:
            NotFound: there is no such task. Records are kept for 30 days after the end.
        """
        return tasks.get(self._stores, self._active(), id)

    @operation("run task", needs.repository(Action.READ_REPOSITORY))
    def run_task(self, id: str) -> Task:
        """Run a task to its end, with the permissions that its work needs. Only the user who began it may do so.

        If another process runs it, or it has ended, return at once. A task whose process has died can be run again
        after a minute: it goes on, and makes its commit at most once. If the branch was reset, or deleted and created
        again since, it fails unless the commit is found.

        Args:
            id: Id of the task.

        Returns:
            The task: done with its commit, failed with an error, or cancelled.

        Raises:
            NotFound: there is no such task.
            OutcomeUnknown: the work may be done. Run the task again after a minute: it finds the
                commit, or makes it.
            PermissionDenied: (`AccessDenied`) another user began it.
        """
        return tasks.run(self._stores, self._active(), id, self._user, self._work)

    @operation("cancel task", needs.repository(Action.READ_REPOSITORY))
    def cancel_task(self, id: str) -> Task:
        """Cancel a task. One that makes its commit at this moment may still end as done.

        Args:
            id: Id of the task.

        Returns:
            The task.

        Raises:
            Conflict: it has ended already.
            NotFound: there is no such task.
            PermissionDenied: (`AccessDenied`) another user began it.
        """
        return tasks.cancel(self._stores, self._active(), id, self._user)

    def _work(self, task: Task, heard: Heard) -> CommitId | None:
        """Do the work of a task, as the user of this handle."""
        work = task.work

        if isinstance(work, DumpTask):
            with suppress(NotUnique):  # another run has stored the whole file, whose name is ours
                self.dump_refs(dump_uri(work, task.id), progress=lambda done, total: heard(0))
            return None
        if isinstance(work, RestoreTask):
            self.restore_refs(work.restore, progress=lambda done, total: heard(0))
            return None
        options = {"message": work.message, "metadata": work.metadata, "idempotency_key": task.id, "progress": heard}
        if work.uri:
            made = self.import_prefix(work.uri, work.into, work.destination, allow_empty=True, **options)  # type: ignore[arg-type]
        else:
            made = self.import_objects(work.objects, work.into, work.destination, allow_empty=True, **options)  # type: ignore[arg-type]
        assert made.commit is not None  # noqa: S101 - only a dry run has none
        return made.commit.id

    @property
    def _user(self) -> str:
        principal = self._stores.principal
        return "" if principal is None else str(principal.user)


def _address(uri: str) -> str:
    """Return the address of an object, or of a directory with a slash at the end, in normal form."""
    return f"{namespace(uri).uri.rstrip('/')}/" if uri.endswith("/") else full_address(uri)
