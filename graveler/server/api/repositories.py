"""Operations on repositories."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

from starlette.responses import Response as HttpResponse

from graveler.server.api.call import Call, answer, no_content
from graveler.server.api.records import ApiRepository, RepositoryCreation
from graveler.server.api.sample_data import SAMPLE, add_sample_data
from graveler_core.errors import InvalidInput
from graveler_core.facade.preflight import require_on_repository, require_to_commit
from graveler_core.facade.repository import Repository
from graveler_core.model.permission import Action

_LOCAL: Final = "local://"


def list_repositories(call: Call) -> HttpResponse:
    """List the repositories that the user may read."""
    query, wanted = call.query, call.query.text("search")
    found = call.graveler.list_repositories(query.text("prefix"), query.text("after"))
    return call.page((repo for repo in found if wanted in repo.id), repository_record, lambda repo: repo.id)


def create_repository(call: Call) -> HttpResponse:
    """Create a repository with one branch and one commit, or a bare one. Sample data are one more commit.

    A bare repository takes its namespace over from a repository of another store, as clients of lakeFS expect that
    restore a dump.
    """
    wanted: RepositoryCreation = call.body
    bare = call.query.flag("bare")
    if bare and wanted.sample_data:
        raise InvalidInput("sample_data: a bare repository has no branch; leave it out")
    create = call.graveler.create_bare_repository if bare else call.graveler.create_repository
    namespace = _namespace(wanted.storage_namespace, call.settings.storage_root)
    call.settings.check_address(namespace)
    # Without permission for a later step, an empty or writable repository would stay behind.
    if wanted.sample_data:
        require_to_commit(call.graveler, wanted.name, wanted.default_branch, SAMPLE)
    if wanted.read_only:
        require_on_repository(call.graveler, wanted.name, Action.UPDATE_REPOSITORY)
    made = create(wanted.name, namespace, default_branch=wanted.default_branch, adopt=bare)
    if wanted.sample_data:
        add_sample_data(made.branch(made.default_branch))
    if wanted.read_only:
        made.set_read_only(True)
    return answer(201, repository_record(made))


def get_repository(call: Call) -> HttpResponse:
    """Show a repository."""
    return answer(200, repository_record(call.graveler.repository(call.repository)))


def delete_repository(call: Call) -> HttpResponse:
    """Delete a repository. It can be undeleted until a cleaner has removed it."""
    call.graveler.delete_repository(call.repository)
    return no_content()


def _namespace(given: str, storage_root: str) -> str:
    """Return the URI of a namespace. `local://<path>` is a path below the storage root."""
    path = given.removeprefix(_LOCAL)
    if path == given:
        return given
    if not path.strip("/") or any(part in ("", ".", "..") for part in path.strip("/").split("/")):
        raise InvalidInput(f"storage namespace {given!r}: must be local:// and a path without empty, . and .. segments")
    return f"{storage_root.rstrip('/')}/{quote(path.strip('/'))}"


def repository_record(repo: Repository) -> ApiRepository:
    """Return a repository as a record of the API."""
    return ApiRepository(
        id=repo.id,
        creation_date=int(repo.creation_date.timestamp()),
        default_branch=repo.default_branch,
        storage_namespace=repo.storage_namespace,
        read_only=repo.read_only,
    )
