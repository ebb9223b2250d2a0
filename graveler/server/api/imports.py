"""Imports, as tasks that run in the background.

An import names either one directory or single objects. Clients poll its state. A task whose server has died goes on in
the server that its user asks for the state.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from starlette.responses import Response as HttpResponse

from graveler.server.api.call import Call, answer, no_content
from graveler.server.api.commits import commit_record
from graveler.server.api.errors import refusal
from graveler.server.api.records import ErrorMessage, ImportCreation, ImportStatus, TaskId
from graveler_core.errors import InvalidInput, Kind, NotFound
from graveler_core.facade.repository import Repository
from graveler_core.model.tasks import ImportTask, Task, TaskState

_CANCELLED: Final = "Canceled: "
"""Beginning of the error of a cancelled import, which clients look for."""


def start_import(call: Call) -> HttpResponse:
    """Begin an import. The answer has the id under which its state is shown."""
    wanted: ImportCreation = call.body
    repo = call.graveler.repository(call.repository)
    directories = [each for each in wanted.paths if each.type == "common_prefix"]
    if len(wanted.paths) != 1 and directories:
        raise InvalidInput("paths: must be one common_prefix, or any number of objects; import others one by one")
    message, metadata = wanted.commit.message or "Import objects", wanted.commit.metadata
    if directories:
        uri, destination = directories[0].path.rstrip("/"), directories[0].destination.rstrip("/")
        task = repo.begin_import(call.branch, destination, uri=uri, message=message, metadata=metadata)
    else:
        objects = {each.destination: each.path for each in wanted.paths}
        if len(objects) != len(wanted.paths):
            raise InvalidInput("paths: two objects have the same destination")
        task = repo.begin_import(call.branch, objects=objects, message=message, metadata=metadata)
    call.tasks.start(repo, task.id)
    return answer(202, TaskId(id=task.id))


def get_import(call: Call) -> HttpResponse:
    """Show the state of an import. That of a running one is of this moment: clients give up one that gets no news."""
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
    """Cancel an import. One that was cancelled before is no error."""
    repo = call.graveler.repository(call.repository)
    task = _found(call, repo)
    if task.state is TaskState.CANCELLED:
        return no_content()
    if task.state is not TaskState.RUNNING:
        return refusal(409, "the import has completed already")
    repo.cancel_task(task.id)
    return no_content()


def _found(call: Call, repo: Repository) -> Task:
    """Return the task that the query names, if it belongs to the branch in the path."""
    id = call.query.required("id")
    task = repo.task(id)
    if not isinstance(task.work, ImportTask) or task.work.into != call.branch:
        raise NotFound(f"import {id!r} does not exist on branch {call.branch!r}", kind=Kind.TaskNotFound)
    return task
