"""Dumps and restorations, as tasks that run in the background.

A dump is one file below the storage namespace of the repository. A dump of lakeFS has three files, so clients get and
send three ids. Here all three are the id of the task that has written the file.
"""

from __future__ import annotations

from datetime import UTC, datetime

from starlette.responses import Response as HttpResponse

from graveler.server.api.call import Call, answer
from graveler.server.api.records import DumpStatus, RefsDump, RestoreCreation, TaskId
from graveler_core.errors import InvalidInput, Kind, NotFound
from graveler_core.facade.repository import Repository
from graveler_core.model.tasks import DumpTask, RestoreTask, TaskState


def start_dump(call: Call) -> HttpResponse:
    """Begin a dump. The answer has the id under which its state is shown."""
    repo = call.graveler.repository(call.repository)
    task = repo.begin_dump(_directory(repo))
    call.tasks.start(repo, task.id)
    return answer(202, TaskId(id=task.id))


def get_dump(call: Call) -> HttpResponse:
    """Show the state of a dump, and the ids for a restoration when it has ended."""
    return _status(call, DumpTask)


def start_restore(call: Call) -> HttpResponse:
    """Begin the restoration of a dump into a bare repository with the storage namespace of the dumped one."""
    wanted: RestoreCreation = call.body
    repo = call.graveler.repository(call.repository)
    ids = {wanted.commits_meta_range_id, wanted.tags_meta_range_id, wanted.branches_meta_range_id}
    (id, *more) = ids
    if more or not (id.isascii() and id.isalnum()):
        raise InvalidInput("restore: the three ids must be those of one dump of this server")
    task = repo.begin_restore(f"{_directory(repo)}/{id}")
    call.tasks.start(repo, task.id)
    return answer(202, TaskId(id=task.id))


def get_restore(call: Call) -> HttpResponse:
    """Show the state of a restoration."""
    return _status(call, RestoreTask)


def _directory(repo: Repository) -> str:
    return f"{repo.storage_namespace}/dumps"


def _status(call: Call, kind: type[DumpTask | RestoreTask]) -> HttpResponse:
    repo, id = call.graveler.repository(call.repository), call.query.required("task_id")
    task = repo.task(id)
    if not isinstance(task.work, kind):
        raise NotFound(f"task {id!r} does not exist", kind=Kind.TaskNotFound)
    if task.user == call.user and task.is_free(datetime.now(UTC)):
        call.tasks.start(repo, task.id)
    dumped = kind is DumpTask and task.state is TaskState.DONE
    refs = RefsDump(commits_meta_range_id=id, tags_meta_range_id=id, branches_meta_range_id=id) if dumped else None
    record = DumpStatus(
        id=id,
        done=task.state is not TaskState.RUNNING,
        update_time=(task.renewed or task.begun).isoformat(),
        error=task.error or None,
        refs=refs,
    )
    return answer(200, record)
