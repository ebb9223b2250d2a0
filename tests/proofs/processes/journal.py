"""Journals: each process records in its own file which calls it began and which results it got. The judge reads them.

A line is on the disk before its process goes on, so a process that is killed leaves at most one operation without an
end: nobody knows whether that one happened. Times are those of the machine's monotonic clock, which all processes
share.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

NEVER = 1 << 62
"""A time after all others."""

Values = Mapping[str, str | None]
"""What paths hold: the checksum of their entry, None for nothing."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One call of a process, as its journal tells it."""

    actor: str
    number: int
    verb: str
    values: Values
    """What it writes, or what it read."""
    began: int
    ended: int = NEVER
    outcome: str = "unknown"
    """`done`; `absorbed`: a commit whose changes another took; `refused`: an error said that nothing happened;
    `unknown`: an error said so, or it has no end."""
    answer: str | None = None
    """A commit's id, for commits; the error, for refusals."""


class Journal:
    """The journal of one life of an actor."""

    def __init__(self, directory: Path, actor: str) -> None:
        self.actor = actor
        lives = sorted(directory.glob(f"{actor}.*.jsonl"))
        self.past = [operation for life in lives for operation in read(life)]
        """What earlier lives of the actor did, in order."""
        self.number = 1 + max((operation.number for operation in self.past), default=-1)
        path = directory / f"{actor}.{len(lives):04d}.jsonl"
        self._file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_WRONLY)

    def begin(self, verb: str, values: Values) -> None:
        """Writes down what comes next."""
        self._write({"number": self.number, "verb": verb, "values": dict(values), "began": time.monotonic_ns()})

    def end(self, outcome: str, answer: str | None = None, values: Values | None = None) -> None:
        """Writes down how it ended, and only then lets the actor go on."""
        line: dict[str, Any] = {"number": self.number, "ended": time.monotonic_ns(), "outcome": outcome}
        read = {} if values is None else {"values": dict(values)}
        self._write(line | {"answer": answer} | read)
        os.fsync(self._file)
        self.number += 1

    def _write(self, line: Mapping[str, Any]) -> None:
        os.write(self._file, json.dumps(line).encode() + b"\n")


def read(path: Path) -> Iterator[Operation]:
    """The operations of one life. A last line that was cut off never was."""
    actor = path.name.partition(".")[0]
    begun: dict[str, Any] = {}
    for raw in path.read_bytes().splitlines(keepends=True):
        if not raw.endswith(b"\n"):
            continue
        line = json.loads(raw)
        if "began" in line:
            begun = line
        else:
            yield Operation(actor, **(begun | line))
            begun = {}
    if begun:
        yield Operation(actor, **begun)


def read_all(directory: Path) -> list[Operation]:
    """All operations of all actors."""
    return [operation for path in sorted(directory.glob("*.jsonl")) for operation in read(path)]
