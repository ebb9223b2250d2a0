"""HTTP status and message of each error of graveler.

Some messages are compared by clients as text, so they are fixed. All others are the messages of the errors.
"""

from __future__ import annotations

from typing import Final

from starlette.responses import Response as HttpResponse

from graveler.server.authentication import RETRY_AFTER
from graveler.server.refusals import RETRY_AFTER_SECONDS, refusal
from graveler_core.errors import (
    Conflict,
    CorruptData,
    DirtyBranch,
    GravelerError,
    InvalidInput,
    Kind,
    NoChanges,
    NotFound,
    NotUnique,
    OutcomeUnknown,
    PermissionDenied,
    SlowDown,
    Unavailable,
)
from graveler_core.model.protection import BranchAction

UNAUTHENTICATED: Final = "error authenticating request"
COMMIT_NOT_FOUND: Final = "commit not found"
PATH_EXISTS: Final = "path already exists"
_BY_KIND: Final[dict[Kind, int]] = {
    Kind.RepositoryDeleting: 410,
    Kind.ObjectNotFound: 410,
    Kind.ContentCollected: 410,
    Kind.NamespaceInUse: 400,
    Kind.AccessDenied: 401,
    Kind.InvalidCredentials: 401,
    Kind.CredentialsRequired: 401,
    Kind.ChecksRequired: 412,
    Kind.HookRefused: 412,
    Kind.PathExists: 412,
    Kind.PredicateFailed: 412,
    Kind.StoreBusy: 503,
}
_BY_CLASS: Final[tuple[tuple[type[GravelerError], int], ...]] = (
    (NotFound, 404),
    (NotUnique, 409),
    (InvalidInput, 400),
    (DirtyBranch, 400),
    (Conflict, 409),
    (NoChanges, 400),
    (SlowDown, 429),
    (OutcomeUnknown, 500),
    (Unavailable, 503),
    (PermissionDenied, 403),
    (CorruptData, 500),
)
"""Status by class; the first class that matches decides. `AccessDenied` has 401 above, because clients expect it."""
_FIXED: Final[dict[Kind, str]] = {
    Kind.RepositoryNotFound: "repository not found",
    Kind.BranchNotFound: "branch not found",
    Kind.TagNotFound: "tag not found",
    Kind.CommitNotFound: COMMIT_NOT_FOUND,
    Kind.RefNotFound: "not found",
    Kind.PathNotFound: "not found",
    Kind.RepositoryExists: "error creating repository: not unique",
    Kind.BranchExists: "branch already exists: not unique",
    Kind.TagExists: "tag already exists: not unique",
    Kind.PathExists: PATH_EXISTS,
    Kind.MergeConflict: "update branch: conflict found",
    Kind.UserNotFound: "user not found",
    Kind.GroupNotFound: "group not found",
    Kind.PolicyNotFound: "policy not found",
    Kind.UserExists: "Already exists",
    Kind.GroupExists: "Already exists",
    Kind.PolicyExists: "Already exists",
    Kind.InvalidCredentials: UNAUTHENTICATED,
    Kind.CredentialsRequired: UNAUTHENTICATED,
}
_PROTECTED: Final = {
    str(BranchAction.WRITE): "cannot write to protected branch",
    str(BranchAction.COMMIT): "cannot commit to protected branch",
}
"""Message by the action that a rule blocks."""


def status_of(error: GravelerError) -> int:
    """Return the HTTP status of an error."""
    if error.kind in _BY_KIND:
        return _BY_KIND[error.kind]
    return next((status for kind, status in _BY_CLASS if isinstance(error, kind)), 500)


def message_of(error: GravelerError) -> str:
    """Return the message of an error for clients."""
    if error.kind in _FIXED:
        return _FIXED[error.kind]
    if error.kind is Kind.BranchProtected:
        return _PROTECTED.get(str(error.details.get("action")), error.message)
    if error.kind is Kind.AccessDenied:
        return f"insufficient permissions: {error.message}"
    return f"no changes: {error.message}" if isinstance(error, NoChanges) else error.message


def error_response(error: GravelerError) -> HttpResponse:
    """Answer with an error."""
    status = status_of(error)
    return refusal(status, message_of(error), **retry_headers(error))


def retry_headers(error: GravelerError) -> dict[str, str]:
    """Return the header that says when to repeat a request, if the error will pass."""
    if status_of(error) not in (429, 503):
        return {}
    return {"retry-after": str(error.details.get(RETRY_AFTER, RETRY_AFTER_SECONDS))}
