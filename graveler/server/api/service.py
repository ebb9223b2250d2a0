"""Operations of the service itself: health, configuration, the current user."""

from __future__ import annotations

from typing import Final

from starlette.responses import Response as HttpResponse

from graveler.server.api.call import Call, answer, no_content
from graveler.server.api.objects import seconds_of
from graveler.server.api.service_records import (
    ApiUser,
    AuthCapabilities,
    CurrentUser,
    GarbageCollectionConfig,
    LoginBody,
    LoginConfig,
    ServerConfig,
    SessionToken,
    SetupState,
    StorageConfig,
    UsageReport,
    VersionConfig,
)
from graveler.server.refusals import refusal
from graveler.server.same_site import from_another_site
from graveler.server.sessions import COOKIE
from graveler_core.errors import InvalidInput
from graveler_core.model.credentials import Credentials

COMPATIBLE_VERSION: Final = "1.80.0"
"""Version of lakeFS whose API this is. Clients parse it, and enable features that this version has."""
UNNAMED_SECONDS: Final = 86_400
"""Minimum time in seconds for which content without a reference is kept: the shortest grace period of a collection."""
_NAMESPACE_PATTERN: Final = "^(s3|gs|az|file|memory)://.+$"


def get_health(call: Call) -> HttpResponse:
    """Answer that the server runs."""
    return no_content()


def get_config(call: Call) -> HttpResponse:
    """Answer with the configuration. Its storage type is that of most namespaces; clients only show it."""
    storage = _storage_config(call)
    version = VersionConfig(version=COMPATIBLE_VERSION)
    return answer(200, ServerConfig(version_config=version, storage_config=storage))


def get_storage_config(call: Call) -> HttpResponse:
    """Answer with the storage part of the configuration."""
    return answer(200, _storage_config(call))


def get_current_user(call: Call) -> HttpResponse:
    """Answer with the authenticated user. On a server without access control, its name is empty."""
    return answer(200, CurrentUser(user=ApiUser(id=call.user, creation_date=0)))


def get_setup_state(call: Call) -> HttpResponse:
    """Answer that the server is set up. Setting up is a command: `graveler iam setup`."""
    return answer(
        200, SetupState(state="initialized", login_config=LoginConfig(RBAC="internal", login_cookie_names=[COOKIE]))
    )


def refuse_setup(call: Call) -> HttpResponse:
    """Refuse to set the server up over HTTP: whoever reached a new server first could lock out its owner."""
    return refusal(409, "lakeFS already initialized; a new store is set up by `graveler iam setup`")


def log_in(call: Call) -> HttpResponse:
    """Begin a session: answer with a token, and set it as a cookie.

    A page of another site must not log a browser in as somebody else. Without a permission of this server, such a page
    cannot send JSON.
    """
    if call.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise InvalidInput("content-type: must be application/json")
    if from_another_site(call.headers):
        return refusal(403, "another site has sent this request")
    wanted: LoginBody = call.body
    token, end = call.log_in(Credentials(wanted.access_key_id, wanted.secret_access_key))
    response = answer(200, SessionToken(token=token, token_expiration=seconds_of(end)))
    response.set_cookie(COOKIE, token, expires=end, httponly=True, samesite="lax", secure=call.secure)
    return response


def get_capabilities(call: Call) -> HttpResponse:
    """Answer that there is no way to invite or authenticate users besides access keys."""
    return answer(200, AuthCapabilities())


def get_version(call: Call) -> HttpResponse:
    """Answer with the version of lakeFS whose API this is."""
    return answer(200, VersionConfig(version=COMPATIBLE_VERSION))


def get_collection_config(call: Call) -> HttpResponse:
    """Answer with the minimum time in seconds for which content without a reference is kept."""
    return answer(200, GarbageCollectionConfig(grace_period=UNNAMED_SECONDS))


def get_usage(call: Call) -> HttpResponse:
    """Answer with an empty report of usage: the server counts no requests for a licence."""
    return answer(200, UsageReport())


def post_statistics(call: Call) -> HttpResponse:
    """Discard the statistics that clients send before each command."""
    return no_content()


def _storage_config(call: Call) -> StorageConfig:
    return StorageConfig(
        blockstore_type="s3",
        blockstore_namespace_example="s3://bucket/prefix",
        blockstore_namespace_ValidityRegex=_NAMESPACE_PATTERN,
        import_support=True,
        import_validity_regex=_NAMESPACE_PATTERN,
        pre_sign_support=call.settings.presign,
        pre_sign_multipart_upload=call.settings.presign,
    )
