"""Guidance of the fuzzer: inputs that reach new places of a decoder are mutated further.

For each input that is refused, the places are the lines of the traceback, and of the tracebacks of its causes, which
cost nothing. Of some inputs, all lines of the library that they run are traced, which makes these inputs some ten times
slower.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random
from types import FrameType, TracebackType
from typing import Any

import graveler_core
from tests.proofs.fuzzing.decoders import Decoder, outcome

SEEDS = Path(__file__).with_name("seeds")
"""Inputs that runs have found: a file for each decoder, with hex digits of one input in each line."""
TRACED_EVERY = 64
LONGEST = 8_192
"""Size of the largest input that is mutated further."""
MOST_SAVED, LONGEST_SAVED = 8, 320
_LIBRARY = str(Path(graveler_core.__file__).parent)
Places = frozenset[tuple[str, int]]


@dataclass
class Guide:
    """Inputs for one decoder, and the places that they reach."""

    decoder: Decoder
    pool: list[bytes]
    found: list[bytes] = field(default_factory=list)
    """Inputs that reached new places, in order."""
    refusals: set[Places] = field(default_factory=set)
    lines: set[tuple[str, int]] = field(default_factory=set)
    tried: int = 0

    def __post_init__(self) -> None:
        for data in self.pool:
            self.lines |= traced(self.decoder, data)

    def choose(self, random: Random) -> bytes:
        """Return an input to mutate: half of the time one of the newest."""
        if self.found and random.random() < 0.5:
            return random.choice(self.found[-8:])
        return random.choice(self.pool)

    def note(self, data: bytes, result: object) -> None:
        """Keep an input that reaches a new place.

        Args:
            data: The input.
            result: What `outcome` returned for it.
        """
        self.tried += 1
        is_new = False
        if isinstance(result, BaseException):
            refusal = refused_at(result)
            is_new = refusal not in self.refusals
            self.refusals.add(refusal)
        if (is_new or self.tried % TRACED_EVERY == 0) and len(data) <= LONGEST:
            lines = traced(self.decoder, data) - self.lines
            self.lines |= lines
            if is_new or lines:
                self.pool.append(data)
                self.found.append(data)

    def save(self, name: str) -> None:
        """Add the first short inputs that reached new places to the saved ones."""
        kept = list(saved(name))
        new = [data for data in self.found if len(data) <= LONGEST_SAVED and data not in kept]
        kept += new[: max(0, MOST_SAVED - len(kept))]
        if kept:
            SEEDS.mkdir(exist_ok=True)
            (SEEDS / f"{name}.txt").write_text("".join(f"{data.hex()}\n" for data in kept))


def guided(name: str, decoder: Decoder) -> Guide:
    """Return the guide of a decoder, with its samples and the saved inputs."""
    return Guide(decoder, [*decoder.samples, *saved(name)])


@cache
def saved(name: str) -> tuple[bytes, ...]:
    """Return the saved inputs for a decoder."""
    file = SEEDS / f"{name}.txt"
    return tuple(bytes.fromhex(line) for line in file.read_text().splitlines()) if file.exists() else ()


def refused_at(error: BaseException) -> Places:
    """Return the places at which an error and its causes were raised."""
    found = set[tuple[str, int]]()
    each: BaseException | None = error
    while each is not None:
        step: TracebackType | None = each.__traceback__
        while step is not None:
            found.add((step.tb_frame.f_code.co_filename, step.tb_lineno))
            step = step.tb_next
        each = each.__cause__
    return frozenset(found)


def traced(decoder: Decoder, data: bytes) -> set[tuple[str, int]]:
    """Return the lines of the library that decoding an input runs."""
    lines = set[tuple[str, int]]()

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        file = frame.f_code.co_filename
        if not file.startswith(_LIBRARY):
            return None
        if event == "line":
            lines.add((file, frame.f_lineno))
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        outcome(decoder, data)
    finally:
        sys.settrace(before)
    return lines
