"""A request to the gateway as its operations see it, and builders of responses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeVar
from urllib.parse import quote

from starlette.responses import Response

from graveler.server.authentication import SignedIn
from graveler.server.kept_answers import KeptAnswers
from graveler.server.opening import OpenBranch, open_branch, read_at
from graveler.server.s3.chunked_body import ChunkSignatures
from graveler.server.s3.refusals import S3Refusal, malformed
from graveler.server.s3.request import S3Request
from graveler.server.s3.upload_body import UploadBody
from graveler.server.s3.xml import Content, XmlElement, document, parse
from graveler_core.errors import InvalidInput, Kind, NotFound
from graveler_core.facade.branch import Branch
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.readable_ref import ReadableRef
from graveler_core.facade.repository import Repository

T = TypeVar("T")
MAX_XML_BYTES: Final = 4 << 20
"""Maximum size of a body that is a document."""
_API_ROOT: Final = "api"
"""First segment of the path, and so the bucket, of a client that uses the address of the API as its endpoint."""


@dataclass(frozen=True, slots=True)
class S3Call:
    """A request, the user who signed it, and the bucket and key that it names."""

    request: S3Request
    signed_in: SignedIn
    bucket: str
    key: str
    answers: KeptAnswers
    """Answers to listings that the process keeps."""
    signatures: ChunkSignatures | None = None

    @property
    def graveler(self) -> Graveler:
        """Handle that checks the permissions of the user."""
        return self.signed_in.graveler

    @property
    def open(self) -> Callable[[str], Repository]:
        """Opens a bucket: see `repository_of`."""
        return partial(repository_of, self.graveler)

    @property
    def repository(self) -> Repository:
        """The repository that is the bucket.

        Raises:
            S3Refusal: The name of the bucket cannot be that of a repository.
        """
        return repository_of(self.graveler, self.bucket)

    @property
    def ref(self) -> str:
        """First segment of the key: a branch, tag or ref expression."""
        return self.key.partition("/")[0]

    @property
    def path(self) -> str:
        """Rest of the key."""
        return self.key.partition("/")[2]

    def read(self, work: Callable[[Repository, ReadableRef], T]) -> T:
        """Return what a function reads at the ref of the key: see `opening.read_at`."""
        return read_at(self.graveler, self.bucket, self.ref, work, self.open)

    def open_branch(self) -> OpenBranch:
        """Open the branch of the key for writing: see `opening.open_branch`."""
        return open_branch(self.graveler, self.bucket, self.ref, self.open)

    @property
    def branch(self) -> Branch:
        """The branch of the key, for writes."""
        return self.repository.branch(self.ref)

    @property
    def body(self) -> UploadBody:
        """Content of an upload. It can be read once."""
        return UploadBody(self.request, self.signatures)

    def xml(self, root: str, *, verify: bool = True) -> XmlElement:
        """Read the body as a document.

        Args:
            root: Name that the root element must have.
            verify: Compare the body with the headers `x-amz-checksum-…`.

        Raises:
            S3Refusal: The body is too large, or is not such a document.
        """
        content = bytearray()
        for block in UploadBody(self.request, self.signatures, verify=verify):
            content += block
            if len(content) > MAX_XML_BYTES:
                raise malformed(f"must have at most {MAX_XML_BYTES:,} bytes")
        return parse(bytes(content), root)


def repository_of(graveler: Graveler, bucket: str) -> Repository:
    """Return the repository that is a bucket."""
    try:
        return graveler.repository(bucket)
    except NotFound as e:
        if bucket != _API_ROOT or e.kind is not Kind.RepositoryNotFound:
            raise
        raise S3Refusal(
            404,
            "ErrNoSuchBucketPossibleAPIEndpoint",
            f"bucket {bucket!r}: there is no repository with this name; an endpoint of S3 has no path such as /api/v1",
        ) from e
    except InvalidInput as e:
        raise S3Refusal(404, "NoSuchBucket", f"bucket {bucket[:100]!r}: there is no repository with this name") from e


def xml_response(root: str, content: Content, *, namespace: bool = True, status: int = 200) -> Response:
    """Answer with a document."""
    body = document(root, content, namespace=namespace)
    return Response(body, status_code=status, media_type="application/xml")


def empty_response(status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Answer without a body."""
    return Response(status_code=status, headers=dict(headers or {}))


def refusal_response(refusal: S3Refusal, request: S3Request, bucket: str, key: str, id: str) -> Response:
    """Answer with an error. The answer to HEAD has no body.

    Args:
        refusal: The error.
        request: The request.
        bucket: Its bucket, or "".
        key: Its key, or "".
        id: Id of the request.
    """
    headers = refusal.headers | ({"retry-after": "1"} if refusal.status == 503 else {})
    if request.method == "HEAD":
        return Response(status_code=refusal.status, headers=headers)
    content = [
        ("Code", refusal.code),
        ("Message", refusal.message),
        ("Key", key),
        ("BucketName", bucket),
        ("Resource", quote(request.path, safe="/")),
        ("RequestId", id),
    ]
    body = document("Error", [(name, value) for name, value in content if value], namespace=False)
    return Response(body, status_code=refusal.status, headers=headers, media_type="application/xml")
