"""A request to the API as its operations see it, and builders of responses."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from pydantic import BaseModel
from starlette.responses import PlainTextResponse
from starlette.responses import Response as HttpResponse

from graveler.server.api import records
from graveler.server.authentication import SignedIn
from graveler.server.kept_answers import KeptAnswers
from graveler.server.local_files import LocalFiles
from graveler.server.opening import OpenBranch, open_branch, read_at
from graveler.server.task_runner import TaskRunner
from graveler_core.errors import InvalidInput, Kind, PermissionDenied
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.readable_ref import ReadableRef
from graveler_core.facade.repository import Repository
from graveler_core.model.credentials import Credentials
from graveler_core.model.secrets_keys import SecretsKeys

DEFAULT_AMOUNT = 100
"""Number of results of a page if the request names none."""

T = TypeVar("T")
_Page = records.ResultPage[Any]
"""Class of pages of any records. Without this reference, Python would drop the class and build it again: 0.6 ms."""


@dataclass(frozen=True, slots=True)
class Query:
    """Query parameters. Clients send empty ones, which count as missing."""

    values: Mapping[str, list[str]]

    @classmethod
    def of(cls, raw: str) -> Query:
        """Read the query string of a URL, in which `+` is a space."""
        values: dict[str, list[str]] = {}
        for name, value in parse_qsl(raw, keep_blank_values=True, errors="strict"):
            values.setdefault(name, []).append(value)
        return cls(values)

    def text(self, name: str) -> str:
        """Return a parameter, or "" if it is missing."""
        return self.values.get(name, [""])[-1]

    def texts(self, name: str) -> list[str]:
        """Return all values of a parameter that may be repeated."""
        return [value for value in self.values.get(name, []) if value]

    def required(self, name: str) -> str:
        """Return a parameter that must not be empty."""
        value = self.text(name)
        if not value:
            raise InvalidInput(f"query parameter {name!r}: must be given and must not be empty")
        return value

    def flag(self, name: str, *, default: bool = False) -> bool:
        """Return a boolean parameter. Clients write `true`, `True` and `1`."""
        value = self.text(name).lower()
        if value not in ("", "true", "false", "1", "0"):
            raise InvalidInput(f"query parameter {name!r}: {value!r} must be true or false")
        return default if not value else value in ("true", "1")

    @property
    def amount(self) -> int:
        """Number of results that the client asks for."""
        given = self.text("amount") or "0"
        try:
            number = int(given)
        except ValueError:
            number = -2
        if not -1 <= number <= records.MAX_PER_PAGE:
            raise InvalidInput(
                f"query parameter 'amount': {given!r} must be a number from -1 to {records.MAX_PER_PAGE}"
            )
        return number if number > 0 else DEFAULT_AMOUNT


@dataclass(frozen=True, slots=True)
class ContentAnswer:
    """Rest of an operation, which copies content and returns the answer. It runs in the threads for copies."""

    run: Callable[[], HttpResponse]
    repeated: Hashable = None
    """Value that repetitions of the request have in common: see `CopyThreads.run`."""


@dataclass(frozen=True, slots=True)
class ApiSettings:
    """Settings of the API."""

    storage_root: str
    """URI below which namespaces `local://…` are, which clients use for a server's own directory."""
    presign: bool = False
    """Tell clients to read and write content by signed URLs of the object stores, past the server."""
    secrets_keys: SecretsKeys | None = None
    """Keys that encrypt the secrets of new access keys, so that S3 clients can use them."""
    local_files: LocalFiles | None = None
    """Local files that users may name. `None`, on a store without access control, means all."""

    def check_address(self, uri: str) -> None:
        """Refuse a URI that users may not name.

        Raises:
            InvalidInput: It is a local file that the server does not allow, or is not valid.
        """
        if self.local_files is not None:
            self.local_files.check(uri)


@dataclass(frozen=True, slots=True)
class Call:
    """A request, with the user who sent it."""

    signed_in: SignedIn | None
    """The user, or `None` for an operation that needs no credentials."""
    log_in: Callable[[Credentials], tuple[str, datetime]]
    """Verifies credentials, and returns the token of a new session and its end."""
    secure: bool
    """The request came over TLS."""
    settings: ApiSettings
    tasks: TaskRunner
    """Runs tasks that outlive the request."""
    answers: KeptAnswers
    """Answers to listings that the process keeps."""
    path: Mapping[str, str]
    """Parameters in the path of the URL."""
    query: Query
    headers: Mapping[str, str]
    body: Any = None
    """Body of the type that the route names."""
    upload: Callable[[], tuple[str | None, Iterable[bytes]]] = lambda: (None, ())
    """Returns the content type and the content of a request whose route reads it as a stream.

    The content can be read once, in the thread of the operation.
    """

    @property
    def graveler(self) -> Graveler:
        """Handle that checks the permissions of the user. Raises `PermissionDenied` if there is no user."""
        if self.signed_in is None:
            raise PermissionDenied("credentials are missing", kind=Kind.CredentialsRequired)
        return self.signed_in.graveler

    @property
    def user(self) -> str:
        """Name of the user; "" on a server without access control."""
        return "" if self.signed_in is None else self.signed_in.user

    @property
    def repository(self) -> str:
        """Name of the repository in the path."""
        return self.path["repository"]

    @property
    def branch(self) -> str:
        """Name of the branch in the path."""
        return self.path["branch"]

    def read(self, work: Callable[[Repository, ReadableRef], T]) -> T:
        """Return what a function reads at the ref in the path: see `opening.read_at`."""
        return read_at(self.graveler, self.repository, self.path["ref"], work, self.graveler.repository)

    def open_branch(self) -> OpenBranch:
        """Open the branch in the path for writing: see `opening.open_branch`."""
        return open_branch(self.graveler, self.repository, self.branch, self.graveler.repository)

    @property
    def rows(self) -> int:
        """Number of items that `page` reads: one more than it shows, so that it knows whether there are more."""
        return self.query.amount + 1

    def page(
        self,
        items: Iterable[T],
        convert: Callable[[T], records.ApiResponse | dict[str, object]],
        offset: Callable[[T], str],
        rest: Callable[[], str | None] = lambda: None,
    ) -> HttpResponse:
        """Answer with the first results of a listing.

        Args:
            items: Items after the offset of the request. At most `rows` of them are read.
            convert: Converts an item to a record, or to the fields of one.
            offset: Returns the offset that resumes the listing after an item.
            rest: Returns the offset that resumes the listing after its items ended, if they ended at a limit.
        """
        amount = self.query.amount
        found: Iterator[T] = iter(items)
        shown = list(islice(found, amount))
        more = len(shown) == amount and next(found, None) is not None
        following = offset(shown[-1]) if more else rest() or ""
        pagination = records.Pagination(has_more=bool(following), next_offset=following, results=len(shown))
        return answer(200, _Page(pagination=pagination, results=[convert(item) for item in shown]))


def answer(status: int, record: BaseModel, **headers: str) -> HttpResponse:
    """Answer with a record as JSON."""
    return HttpResponse(
        record.model_dump_json(exclude_none=True, serialize_as_any=True),
        status_code=status,
        media_type="application/json",
        headers=headers,
    )


def no_content() -> HttpResponse:
    """Answer with status 204."""
    return HttpResponse(status_code=204)


def created() -> HttpResponse:
    """Answer with status 201 and no body."""
    return HttpResponse(status_code=201)


def plain(status: int, text: str) -> HttpResponse:
    """Answer with plain text."""
    return PlainTextResponse(text, status_code=status)
