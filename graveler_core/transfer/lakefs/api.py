"""Client of the API of lakeFS: the few requests that a migration needs.

Besides reading, it only asks for a dump of references, which adds files below `_lakefs/` and changes nothing.
"""

from __future__ import annotations

import base64
import http.client
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import quote, unquote, urlencode, urlsplit

from graveler_core.errors import InvalidInput, Kind, NotFound, Unavailable
from graveler_core.stores.http_connections import http_connection
from graveler_core.telemetry.secrets import without_password
from graveler_core.transfer.lakefs.references import RefsManifest, parse_manifest

TIMEOUT_SECONDS: Final = 60.0
WAIT_SECONDS: Final = 0.5
"""Time between two requests for the state of a dump in progress."""
DUMP_SECONDS: Final = 3_600
"""Maximum time to wait for a dump."""
PAGE: Final = 1_000
MAX_ANSWER_BYTES: Final = 64 << 20
_ROOT: Final = "/api/v1"
_OLD_SERVER: Final = (404, 405)


@dataclass(frozen=True, slots=True)
class LakefsRepository:
    """Properties of a repository, as the server states them."""

    storage_namespace: str
    default_branch: str
    creation_date: datetime


class LakefsApi:
    """One repository of a server.

    Args:
        url: `https://key:secret@host:port/repository`, or the same with `http`.
        sleep: Function that waits for some seconds.

    Raises:
        InvalidInput: The URL has another form.
        NotFound: The server has no such repository.
        Unavailable: The server cannot be reached, or refuses the credentials.
    """

    def __init__(self, url: str, sleep: Callable[[float], object]) -> None:
        self._sleep = sleep
        self.shown = without_password(url)
        try:
            self._parts = urlsplit(url)
            http_connection(self._parts, TIMEOUT_SECONDS)
            valid = self._parts.scheme in ("http", "https") and bool(self._parts.hostname)
            name = self._parts.path.strip("/")
        except (ValueError, http.client.InvalidURL):  # their texts may quote a part of the password
            valid, name = False, ""
        if not valid or not name or "/" in name:
            raise InvalidInput(
                f"{self.shown!r} is not the URL of a repository: must be lakefs+https://key:secret@host:port/repository",
                kind=Kind.InvalidUrl,
                url=self.shown,
            )
        self._root = f"{_ROOT}/repositories/{quote(name, safe='')}"
        self.repository = self._described()

    def _described(self) -> LakefsRepository:
        said = self._json("GET", "")
        try:
            created = datetime.fromtimestamp(said["creation_date"], UTC)
            return LakefsRepository(said["storage_namespace"], said["default_branch"], created)
        except (KeyError, TypeError, ValueError, OverflowError) as e:
            raise self._unexpected(e) from e

    def dump(self) -> RefsManifest:
        """Let the server write a dump of references, and return its manifest.

        Raises:
            Unavailable: The server does not write one, or not in time.
        """
        status, text = self._exchange("POST", "/dump")
        if status in _OLD_SERVER:
            return parse_manifest(self._text("PUT", "/refs/dump"), self.shown)
        try:
            task = json.loads(self._require("POST", "/dump", status, text))["id"]
            for _ in range(int(DUMP_SECONDS / WAIT_SECONDS)):
                said = self._json("GET", "/dump", {"task_id": task})
                if said["done"]:
                    if said.get("error"):
                        raise Unavailable(f"{self.shown}: the dump of references failed: {said['error']}")
                    return parse_manifest(json.dumps(said["refs"]).encode(), self.shown)
                self._sleep(WAIT_SECONDS)
        except (KeyError, TypeError, ValueError, RecursionError) as e:
            raise self._unexpected(e) from e
        raise Unavailable(f"{self.shown}: the dump of references did not end within {DUMP_SECONDS:,} seconds")

    def uncommitted(self, branch: str) -> Iterator[tuple[str, str]]:
        """Yield path and kind (`added`, `changed`, `removed`) of the uncommitted changes of a branch."""
        for item in self._pages(f"/branches/{quote(branch, safe='')}/diff"):
            try:
                yield item["path"], item["type"]
            except (KeyError, TypeError) as e:
                raise self._unexpected(e) from e

    def stat(self, ref: str, path: str) -> Mapping[str, Any] | None:
        """Return the server's description of an object, or `None` if it does not exist."""
        where = f"/refs/{quote(ref, safe='')}/objects/stat"
        status, text = self._exchange("GET", where, {"path": path, "user_metadata": "true"})
        if status == http.client.NOT_FOUND:
            return None
        found = self._document(self._require("GET", where, status, text))
        if not isinstance(found, dict):
            raise self._unexpected(TypeError(f"{where}: not an object of JSON"))
        return found

    def _pages(self, path: str) -> Iterator[Mapping[str, Any]]:
        after, more = "", True
        while more:
            page = self._json("GET", path, {"after": after, "amount": str(PAGE)})
            try:
                yield from page["results"]
                more, after = page["pagination"]["has_more"], page["pagination"]["next_offset"]
            except (KeyError, TypeError) as e:
                raise self._unexpected(e) from e

    def _json(self, verb: str, path: str, query: Mapping[str, str] | None = None) -> Any:
        return self._document(self._text(verb, path, query))

    def _document(self, text: bytes) -> Any:
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as e:
            raise self._unexpected(e) from e

    def _text(self, verb: str, path: str, query: Mapping[str, str] | None = None) -> bytes:
        return self._require(verb, path, *self._exchange(verb, path, query))

    def _require(self, verb: str, path: str, status: int, text: bytes) -> bytes:
        if status // 100 == 2:
            return text
        said = text[:200].decode(errors="replace")
        if status == http.client.NOT_FOUND:
            raise NotFound(f"{self.shown}: {verb} {path}: {said}", kind=Kind.RepositoryNotFound)
        raise Unavailable(f"{self.shown}: {verb} {path}: status {status}: {said}", kind=Kind.StoreUnreachable)

    def _exchange(self, verb: str, path: str, query: Mapping[str, str] | None = None) -> tuple[int, bytes]:
        connection = http_connection(self._parts, TIMEOUT_SECONDS)
        try:
            where = self._root + path + (f"?{urlencode(query)}" if query else "")
            connection.request(verb, where, headers={"Authorization": self._authorization(), "Content-Length": "0"})
            answer = connection.getresponse()
            text = answer.read(MAX_ANSWER_BYTES)
            if answer.length:  # `read` reports no answer that ends early
                raise http.client.IncompleteRead(text, answer.length)
            return answer.status, text
        except (OSError, http.client.HTTPException) as e:
            raise Unavailable(f"{self.shown}: cannot be reached: {e}", kind=Kind.StoreUnreachable) from e
        finally:
            connection.close()

    def _authorization(self) -> str:
        pair = f"{unquote(self._parts.username or '')}:{unquote(self._parts.password or '')}"
        return f"Basic {base64.b64encode(pair.encode()).decode()}"

    def _unexpected(self, error: Exception) -> Unavailable:
        return Unavailable(f"{self.shown}: does not answer as lakeFS does ({type(error).__name__}: {error})")
