"""Table of all operations of the API: method, path below `/api/v1`, function, and the body that it takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel
from starlette.responses import Response as HttpResponse

from graveler.server.api import branches, commits, objects, repositories, service, tags
from graveler.server.api import records as r
from graveler.server.api.call import Call, answer
from graveler.server.api.errors import refusal

_REPO = "/repositories/{repository}"
_BRANCH = _REPO + "/branches/{branch}"
_REF = _REPO + "/refs/{ref}"


@dataclass(frozen=True, slots=True)
class ApiRoute:
    """An operation of the API."""

    method: str
    path: str
    run: Callable[[Call], HttpResponse]
    body: type[BaseModel] | None = None
    """Type of the JSON body, if there is one."""
    body_required: bool = True
    streams: bool = False
    """The operation reads the body as a stream."""
    public: bool = False
    """The operation needs no credentials."""


def _no_runs(call: Call) -> HttpResponse:
    """List the runs of hooks: there are none."""
    call.graveler.repository(call.repository)
    return answer(
        200, r.ResultPage[Any](pagination=r.Pagination(has_more=False, next_offset="", results=0), results=[])
    )


def not_implemented(call: Call) -> HttpResponse:
    """Answer that the server does not have an operation of the API."""
    return refusal(501, "Not Implemented")


ROUTES = (
    ApiRoute("GET", "/healthcheck", service.get_health, public=True),
    ApiRoute("GET", "/setup_lakefs", service.get_setup_state, public=True),
    ApiRoute("GET", "/config", service.get_config),
    ApiRoute("GET", "/config/storage", service.get_storage_config),
    ApiRoute("GET", "/user", service.get_user),
    ApiRoute("POST", "/statistics", service.post_statistics),
    ApiRoute("GET", "/repositories", repositories.list_repositories),
    ApiRoute("POST", "/repositories", repositories.create_repository, r.RepositoryCreation),
    ApiRoute("GET", _REPO, repositories.get_repository),
    ApiRoute("DELETE", _REPO, repositories.delete_repository),
    ApiRoute("GET", _REPO + "/metadata", repositories.get_metadata),
    ApiRoute("GET", _REPO + "/settings/branch_protection", branches.get_protection),
    ApiRoute("PUT", _REPO + "/settings/branch_protection", branches.set_protection, r.ProtectionRuleSettings),
    ApiRoute("GET", _REPO + "/actions/runs", _no_runs),
    ApiRoute("GET", _REPO + "/branches", branches.list_branches),
    ApiRoute("POST", _REPO + "/branches", branches.create_branch, r.BranchCreation),
    ApiRoute("GET", _BRANCH, branches.get_branch),
    ApiRoute("PUT", _BRANCH, branches.reset_branch, r.ResetCreation),
    ApiRoute("DELETE", _BRANCH, branches.delete_branch),
    ApiRoute("PUT", _BRANCH + "/hard_reset", branches.hard_reset_branch),
    ApiRoute("POST", _BRANCH + "/revert", branches.revert_branch, r.RevertCreation),
    ApiRoute("POST", _BRANCH + "/cherry-pick", branches.cherry_pick, r.CherryPickCreation),
    ApiRoute("POST", _BRANCH + "/commits", commits.commit, r.CommitCreation),
    ApiRoute("GET", _BRANCH + "/diff", commits.diff_branch),
    ApiRoute("POST", _BRANCH + "/objects", objects.upload_object, streams=True),
    ApiRoute("PUT", _BRANCH + "/objects", objects.stage_object, r.ObjectStaging),
    ApiRoute("DELETE", _BRANCH + "/objects", objects.delete_object),
    ApiRoute("POST", _BRANCH + "/objects/delete", objects.delete_objects, r.PathList),
    ApiRoute("POST", _BRANCH + "/objects/copy", objects.copy_object, r.ObjectCopy),
    ApiRoute("GET", _REPO + "/tags", tags.list_tags),
    ApiRoute("POST", _REPO + "/tags", tags.create_tag, r.TagCreation),
    ApiRoute("GET", _REPO + "/tags/{tag}", tags.get_tag),
    ApiRoute("DELETE", _REPO + "/tags/{tag}", tags.delete_tag),
    ApiRoute("GET", _REPO + "/commits/{commit}", commits.get_commit),
    ApiRoute("GET", _REF + "/commits", commits.log),
    ApiRoute("GET", _REF + "/objects", objects.get_object),
    ApiRoute("HEAD", _REF + "/objects", objects.head_object),
    ApiRoute("GET", _REF + "/objects/ls", objects.list_objects),
    ApiRoute("GET", _REF + "/objects/stat", objects.stat_object),
    ApiRoute("GET", _REPO + "/refs/{left}/diff/{right}", commits.diff_refs),
    ApiRoute("POST", _REPO + "/refs/{source}/merge/{branch}", commits.merge, r.MergeCreation, body_required=False),
    ApiRoute("GET", _REPO + "/refs/{source}/merge/{branch}", commits.find_merge_base),
    ApiRoute("POST", "/auth/login", not_implemented, public=True),
    ApiRoute("GET", _BRANCH + "/staging/backing", not_implemented),
    ApiRoute("PUT", _BRANCH + "/staging/backing", not_implemented),
    ApiRoute("POST", _BRANCH + "/import", not_implemented),
    ApiRoute("GET", _BRANCH + "/import", not_implemented),
    ApiRoute("DELETE", _BRANCH + "/import", not_implemented),
)
