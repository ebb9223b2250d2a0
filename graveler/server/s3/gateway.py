"""The gateway as an ASGI application, in front of the application of the API.

Both share a port. A request is an S3 request if it carries an AWS signature, or if its host is one of the S3 domains or
a subdomain of one. All other requests go to the API. This only chooses the application that answers: each one
authenticates on its own, and neither accepts credentials that only the other one has verified.

On an S3 domain, `<bucket>.<domain>` names the bucket. With any other host, the first segment of the path does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Final

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from graveler.server.authentication import SignedIn
from graveler.server.body_stream import BodyStream
from graveler.server.observing import facts_of
from graveler.server.parts import ServerParts
from graveler.server.s3.call import S3Call, refusal_response
from graveler.server.s3.copy_answers import ContentCopy, Refused, answer_of_copy
from graveler.server.s3.operations import UPLOADS, operation_of
from graveler.server.s3.refusals import S3Refusal, refusal_of
from graveler.server.s3.request import S3Request
from graveler.server.s3.signature import carries_signature
from graveler.server.s3.signing_users import SigningUsers
from graveler.server.worker_threads import WORKER_THREADS, run_in
from graveler_core.errors import GravelerError, InvalidInput

MAX_DRAINED_BYTES: Final = 1 << 20
"""Maximum size of a body that is received although no operation has read it, so that the client sees the answer."""


@dataclass(frozen=True, slots=True)
class S3Users:
    """Users of a gateway."""

    signing: SigningUsers | None
    """Authentication by signatures, on a store with access control."""
    everyone: SignedIn | None
    """User that all requests act for, on a store without access control. No signature is verified."""


class S3Gateway:
    """ASGI application that answers S3 requests, and passes all others on."""

    def __init__(self, app: ASGIApp, users: S3Users, parts: ServerParts, domains: Sequence[str] = ()) -> None:
        """Create the gateway.

        Args:
            app: Application that answers all other requests.
            users: Users of the gateway.
            parts: Limits of requests, and kept answers, which the gateway shares with the API.
            domains: Names of hosts below which a bucket is a subdomain.
        """
        for domain in domains:
            if not domain or domain != domain.strip(".").lower() or any(c in domain for c in "/: "):
                raise InvalidInput(f"S3 domain {domain!r}: must be the name of a host in lower case, without a port")
        self._app = app
        self._users = users
        self._limits = parts.limits
        self._answers = parts.answers
        self._domains = tuple(sorted(domains, key=len, reverse=True))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http" or not self.is_s3(scope):
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        body = BodyStream(request)
        stream = body.raw()
        await body.receive_small()
        waits = body.waits and not _has_none(request, body)
        threads = self._limits.upload_threads if waits else WORKER_THREADS
        answer = await run_in(threads, self._answer, request, stream, waits=waits)
        is_received = _has_none(request, body) or await _received(request, body)
        response = answer if isinstance(answer, Response) else await answer_of_copy(self._limits.copy_threads, *answer)
        if not is_received:
            response.headers["connection"] = "close"  # what follows on the connection would be the rest of the body
        response.headers["x-amz-request-id"] = response.headers["x-request-id"] = facts_of(scope).id
        response.headers["x-content-type-options"] = "nosniff"
        try:
            await response(scope, receive, send)
        except ClientDisconnect:
            return

    def is_s3(self, scope: Scope) -> bool:
        """Return true if an HTTP request carries a signature of S3, or its host is an S3 domain or below one."""
        headers = dict(scope["headers"])
        query = scope.get("query_string", b"").decode("latin-1")
        names = [pair.partition("=")[0] for pair in query.split("&")]
        if carries_signature(headers.get(b"authorization", b"").decode("latin-1"), names):
            return True
        return self._bucket_of_host(headers.get(b"host", b"").decode("latin-1")) is not None

    def _bucket_of_host(self, host: str) -> str | None:
        """Return the bucket that a host names, "" for an S3 domain itself, or `None` for any other host."""
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
        name = name.lower().rstrip(".")
        for domain in self._domains:
            if name == domain:
                return ""
            if name.endswith(f".{domain}"):
                return name.removesuffix(f".{domain}")
        return None

    def _answer(self, http: Request, stream: Iterator[bytes], *, waits: bool) -> Response | tuple[ContentCopy, Refused]:
        """Run an operation. Runs in a worker thread. A request whose body must be waited for counts as an upload.

        Returns:
            The answer; or the copy of content that remains to be made, and a function that answers if it fails.
        """
        scope = http.scope
        raw_path = scope.get("raw_path") or scope["path"].encode()
        request, bucket, key = S3Request(scope["method"], "/"), "", ""
        try:
            request = S3Request.of(scope["method"], raw_path, scope.get("query_string", b""), scope["headers"], stream)
            bucket, key = self._resource(request)
            user, signatures = self._users.everyone, None
            if self._users.signing is not None:
                user, signatures = self._users.signing.user_of(
                    request, self._bucket_of_host(request.header("host") or "") or ""
                )
            assert user is not None  # noqa: S101 - a server has users or everyone
            facts = facts_of(scope)
            facts.user = user.user
            self._limits.admit(user.user)
            call = S3Call(request, user, bucket, key, self._answers, signatures)
            operation = operation_of(call)
            facts.operation = f"s3_{operation.__name__.strip('_')}"
            with self._limits.uploading() if waits or operation in UPLOADS else nullcontext():
                answer = operation(call)
            if isinstance(answer, Response):
                return answer
            return answer, partial(refusal_response, request=request, bucket=bucket, key=key, id=facts.id)
        except S3Refusal as refusal:
            return refusal_response(refusal, request, bucket, key, facts_of(scope).id)
        except GravelerError as error:
            return refusal_response(refusal_of(error), request, bucket, key, facts_of(scope).id)

    def _resource(self, request: S3Request) -> tuple[str, str]:
        """Return the bucket and the key of a request."""
        path = request.path.removeprefix("/")
        bucket = self._bucket_of_host(request.header("host") or "")
        if bucket:
            return bucket, path
        bucket, _, key = path.partition("/")
        return bucket, key


def _has_none(request: Request, body: BodyStream) -> bool:
    """Return true if the whole body was received, or there is none."""
    return body.ended or (_length(request) == "0" and "transfer-encoding" not in request.headers)


def _length(request: Request) -> str:
    return request.headers.get("content-length", "0")


async def _received(request: Request, body: BodyStream) -> bool:
    """Receive the rest of a body, if it is small and the client does not wait for `100 Continue`.

    It is received in the event loop: a client that sends nothing more must not keep a worker thread.

    Returns:
        True if the whole body was received.
    """
    length = _length(request)
    if "expect" in request.headers or not length.isdecimal() or int(length) > MAX_DRAINED_BYTES:
        return False
    return await body.discard_rest(MAX_DRAINED_BYTES)
