"""Operations of lakeFS that this server does not have. They answer with status 501, and unknown operations with 404.

They belong to lakeFS's cloud and its file formats, or to ways of login and storage that the server does not offer.
"""

from __future__ import annotations

from typing import Final

from starlette.responses import Response as HttpResponse

from graveler.server.api.call import Call
from graveler.server.api.route import ApiRoute
from graveler.server.refusals import refusal

_REPO: Final = "/repositories/{repository}"
_BRANCH: Final = _REPO + "/branches/{branch}"
_PULLS: Final = _REPO + "/pulls"
_GC: Final = _REPO + "/gc"


def not_implemented(call: Call) -> HttpResponse:
    """Answer that the server does not have an operation of the API."""
    return refusal(501, "Not Implemented")


NOT_IMPLEMENTED: Final = tuple(
    ApiRoute(method, path, not_implemented, success=501)
    for method, path in (
        ("POST", "/setup_comm_prefs"),
        ("POST", "/auth/external/principal/login"),
        ("POST", "/sts/login"),
        ("GET", "/oidc/callback"),
        ("GET", "/auth/users/{user}/external/principals/ls"),
        ("POST", "/auth/users/{user}/external/principals"),
        ("DELETE", "/auth/users/{user}/external/principals"),
        ("GET", "/auth/external/principals"),
        ("PUT", _BRANCH + "/objects/stat/user_metadata"),
        ("GET", _BRANCH + "/objects/stage_allowed"),
        ("PUT", _REPO + "/refs/dump"),
        ("PUT", _REPO + "/refs/restore"),
        ("POST", _REPO + "/refs/{ref}/symlink"),
        ("POST", _REPO + "/commits"),
        ("GET", _REPO + "/metadata/object/{type}/{id}"),
        ("GET", _REPO + "/metadata/meta_range/{id}"),
        ("GET", _REPO + "/metadata/range/{id}"),
        ("GET", _PULLS),
        ("POST", _PULLS),
        ("GET", _PULLS + "/{pull}"),
        ("PATCH", _PULLS + "/{pull}"),
        ("PUT", _PULLS + "/{pull}/merge"),
        ("POST", _GC + "/prepare_commits"),
        ("POST", _GC + "/prepare_commits/async"),
        ("GET", _GC + "/prepare_commits/status"),
        ("POST", _GC + "/prepare_uncommited"),
        ("GET", _GC + "/rules"),
        ("POST", _GC + "/rules"),
        ("DELETE", _GC + "/rules"),
        ("GET", _REPO + "/branch_protection"),
        ("DELETE", _REPO + "/branch_protection"),
    )
)
