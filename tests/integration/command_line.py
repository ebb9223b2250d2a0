"""Running the command line in this process, and what it answered."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[list[str]]:
        return [line.split("\t") for line in self.out.splitlines()]

    @property
    def documents(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]


Cli = Callable[..., Ran]


def put(cli: Cli, path: str, content: bytes, branch: str = "main") -> None:
    Path("content").write_bytes(content)
    ran = cli("put", "content", f"graveler://flights/{branch}/{path}")
    assert ran.code == 0, ran.err


def paths(cli: Cli, uri: str) -> list[str]:
    return [row["path"] for row in cli("ls", "-r", uri, "--json").documents]


def refused(ran: Ran, *words: str) -> None:
    """One line that names what is wrong, and code 1."""
    assert ran.code == 1
    assert ran.err.startswith("error: ")
    assert ran.err.count("\n") == 1
    assert "unexpected" not in ran.err
    assert "Traceback" not in ran.err
    for word in words:
        assert word in ran.err
