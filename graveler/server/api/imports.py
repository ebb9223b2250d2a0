"""Imports, as tasks that run in the background.

An import names directories and single objects. Clients poll its state. If the server that runs a task has died, the
task continues in the server that its user asks for the state.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from starlette.responses import Response as HttpResponse

from graveler.server.api.call import Call, answer, no_content
from graveler.server.api.commits import commit_record
from graveler.server.api.records import ErrorMessage, ImportCreation, ImportPath, ImportStatus, TaskId
from graveler.server.refusals import refusal
from graveler_core.errors import InvalidInput, Kind, NotFound
from graveler_core.facade.repository import Repository
from graveler_core.model.tasks import ImportTask, Task, TaskState

_CANCELLED: Final = "Canceled: "
"""Beginning of the error of a cancelled import, which clients look for."""
_INVALID_SOURCE: Final = "invalid import source"
"""Beginning of the message about a source that a repository owns, which clients look for."""


def start_import(call: Call) -> HttpResponse:
    """Begin an import. The answer has the id under which its state is shown."""
    wanted: ImportCreation = call.body
    repo = call.graveler.repository(call.repository)
    sources = [_source(repo, each) for each in wanted.paths]
    objects = dict(sources)
    if len(objects) != len(sources):
        raise InvalidInput("paths: two of them have the same destination")
    for _, named in sources:
        call.settings.check_address(named)
    message, metadata = wanted.commit.message or "Import objects", wanted.commit.metadata
    destination, uri = sources[0]
    try:
        if len(sources) == 1 and uri.endswith("/"):
            task = repo.begin_import(call.branch, destination, uri=uri, message=message, metadata=metadata)
        else:
            task = repo.begin_import(call.branch, objects=objects, message=message, metadata=metadata)
    except InvalidInput as error:
        if error.kind is not Kind.NamespaceInUse:
            raise
        return refusal(400, f"{_INVALID_SOURCE}: {error.message}")
    call.tasks.start(repo, task.id)
    return answer(202, TaskId(id=task.id))


def get_import(call: Call) -> HttpResponse:
    """Show the state of an import. The update time of a running one is now: clients give up one without updates."""
    now = datetime.now(UTC)
    repo = call.graveler.repository(call.repository)
    task = _found(call, repo)
    if task.user == call.user and task.is_free(now):
        call.tasks.start(repo, task.id)
    commit = None if task.commit_id is None else commit_record(repo.commit(task.commit_id))
    running, cancelled = task.state is TaskState.RUNNING, task.state is TaskState.CANCELLED
    record = ImportStatus(
        completed=not running,
        update_time=(now if running else task.renewed or task.begun).isoformat(),
        ingested_objects=task.objects,
        metarange_id="" if commit is None else commit.meta_range_id,
        commit=commit,
        error=ErrorMessage(message=f"{_CANCELLED}{task.error}" if cancelled else task.error) if task.error else None,
    )
    return answer(200, record)


def cancel_import(call: Call) -> HttpResponse:
    """Cancel an import. Cancelling it again is no error."""
    repo = call.graveler.repository(call.repository)
    task = _found(call, repo)
    if task.state is TaskState.CANCELLED:
        return no_content()
    if task.state is not TaskState.RUNNING:
        return refusal(409, "the import has completed already")
    repo.cancel_task(task.id)
    return no_content()


def _source(repo: Repository, wanted: ImportPath) -> tuple[str, str]:
    """Return the path and the URI of a source. Those of a directory end in a slash.

    A directory is imported into the destination if its path ends in a slash, otherwise with its own name.
    """
    if wanted.type == "object":
        if wanted.path.endswith("/"):
            raise InvalidInput(f"path {wanted.path!r}: is not an object, because it ends in a slash")
        return wanted.destination, wanted.path
    destination = wanted.destination.strip("/")
    if wanted.path.endswith("/"):
        return destination, wanted.path
    if repo.storage_namespace.startswith(wanted.path):
        raise InvalidInput(f"{_INVALID_SOURCE}: the storage namespace of the repository begins with {wanted.path!r}")
    return f"{destination}/{wanted.path.rpartition('/')[2]}".lstrip("/"), f"{wanted.path}/"


def _found(call: Call, repo: Repository) -> Task:
    """Return the task that the query names, if it belongs to the branch in the path."""
    id = call.query.required("id")
    task = repo.task(id)
    if not isinstance(task.work, ImportTask) or task.work.into != call.branch:
        raise NotFound(f"import {id!r} does not exist on branch {call.branch!r}", kind=Kind.TaskNotFound)
    return task
