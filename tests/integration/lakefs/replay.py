"""A server that repeats the answers of a real server of lakeFS."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

from tests.foreign import fixtures
from tests.foreign.lakefs_history import KEY, REPOSITORY, SECRET

ROOT = f"/api/v1/repositories/{REPOSITORY}"


@dataclass
class Replay:
    """What the server answers, and what it was asked."""

    old: bool = False
    """A version of lakeFS that dumps references in one request."""
    looks: int = 1
    """How often the dump is not ready."""
    failure: str | None = None
    page: int = 1_000
    cut: str | None = None
    """End of the address at which answers end after half of their bytes."""
    wrong: dict[str, Any] = field(default_factory=dict)
    """Documents of answers by the end of their addresses."""
    asked: list[str] = field(default_factory=list)
    port: int = 0

    @property
    def url(self) -> str:
        """URL of the repository for a migration."""
        return f"lakefs+http://{KEY}:{quote(SECRET, safe='')}@127.0.0.1:{self.port}/{REPOSITORY}"

    def answer(self, verb: str, path: str, query: dict[str, str]) -> tuple[int, Any]:
        """Status and document of an answer."""
        self.asked.append(f"{verb} {path}")
        wrong = [document for end, document in self.wrong.items() if path.endswith(end)]
        return (200, wrong[0]) if wrong else self._answer(verb, path, query)

    def _answer(self, verb: str, path: str, query: dict[str, str]) -> tuple[int, Any]:
        said = fixtures.answers()
        match verb, path.removeprefix(ROOT).split("/")[1:]:
            case "GET", []:
                return 200, said["repository"]
            case "POST", ["dump"]:
                return (404, {"message": "invalid API endpoint"}) if self.old else (202, {"id": "DRone"})
            case "PUT", ["refs", "dump"]:
                return 201, said["refs"]
            case "GET", ["dump"]:
                return 200, self._dump(query)
            case "GET", ["branches", branch, "diff"]:
                return 200, self._diff(said["diff"][branch]["results"], query)
        found = said["stat"].get(query.get("path"))
        return (404, {"message": "not found"}) if found is None else (200, found)

    def _dump(self, query: dict[str, str]) -> dict[str, Any]:
        assert query == {"task_id": "DRone"}
        self.looks -= 1
        if self.looks >= 0:
            return {"id": "DRone", "done": False}
        return {"id": "DRone", "done": True, "error": self.failure, "refs": fixtures.answers()["refs"]}

    def _diff(self, results: list[Any], query: dict[str, str]) -> dict[str, Any]:
        rest = [item for item in results if item["path"] > query["after"]]
        part, more = rest[: self.page], len(rest) > self.page
        return {"results": part, "pagination": {"has_more": more, "next_offset": part[-1]["path"] if more else ""}}


@contextmanager
def replaying(answers: Replay) -> Iterator[Replay]:
    """Run the server on a free port of this machine."""

    class Handler(BaseHTTPRequestHandler):
        def handle_one(self) -> None:
            parts = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
            pair = base64.b64encode(f"{KEY}:{SECRET}".encode()).decode()
            if self.headers["Authorization"] != f"Basic {pair}":
                status, said = 401, {"message": "error authenticating request"}
            else:
                status, said = answers.answer(self.command, parts.path, query)
            text = json.dumps(said).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            half = answers.cut is not None and parts.path.endswith(answers.cut)
            self.wfile.write(text[: len(text) // 2] if half else text)
            self.close_connection = True

        do_GET = do_POST = do_PUT = handle_one

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        answers.port = server.server_address[1]
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield answers
        finally:
            server.shutdown()
            thread.join()
