"""`python -m tests.proofs.fuzzing.run --inputs 100000`: try many inputs for each decoder, and save each new finding.

Inputs that reach new places are mutated further (`guidance`). `--save` adds some of them to those with which later runs
begin. A finding is an error that is not one of graveler. It is saved in `corpus/<decoder>/`, where tests repeat it, and
shown with its seed. The exit code is 1 if there are findings.
"""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import suppress
from hashlib import sha256
from random import Random

from tests.proofs.fuzzing.decoders import DECODERS, Decoder, outcome
from tests.proofs.fuzzing.guidance import guided
from tests.proofs.fuzzing.inputs import mutate
from tests.proofs.fuzzing.test_decoders import CORPUS

_REPORTED = 3
"""Findings of one decoder that are saved: the first ones of different places in the code."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=sorted(DECODERS))
    parser.add_argument("--save", action="store_true")
    given = parser.parse_args()
    names = [given.only] if given.only else DECODERS
    found = sum(tried(name, given.inputs, given.seed, save=given.save) for name in names)
    print(f"{found} findings")
    return 1 if found else 0


def tried(name: str, inputs: int, seed: int, *, save: bool = False) -> int:
    """Try inputs for a decoder. Return the number of its different findings."""
    decoder, seen, begun, slowest = DECODERS[name], set[tuple[str, int]](), time.process_time(), 0.0
    random, guide = Random(f"{name} {seed}"), guided(name, decoder)
    known = len(guide.lines)
    for number in range(inputs):
        data = mutate(random, guide.choose(random))
        started = time.perf_counter()
        try:
            guide.note(data, outcome(decoder, data))
        except Exception as error:  # each one is a finding
            where = _place(error)
            if where not in seen and len(seen) < _REPORTED:
                print(f"{name}: seed {seed}, input {number}: {type(error).__name__}: {error} at {where[0]}:{where[1]}")
                folder = CORPUS / name
                folder.mkdir(parents=True, exist_ok=True)
                (folder / f"{sha256(data).hexdigest()[:16]}.hex").write_text(data.hex() + "\n")
            seen.add(where)
        if time.perf_counter() - started > slowest:  # other programs may have delayed it
            slowest = max(slowest, _processor_time(decoder, data))
    if save:
        guide.save(name)
    spent, new = time.process_time() - begun, len(guide.lines) - known
    rate = f"{inputs / max(spent, 1e-9):,.0f} per second, slowest {slowest * 1000:.1f} ms"
    print(f"{name}: {inputs:,} inputs, {rate}, {len(guide.found)} kept, {new} new lines", flush=True)
    return len(seen)


def _processor_time(decoder: Decoder, data: bytes) -> float:
    """Return the seconds of processor time that an input takes. Asking for this time takes longer than most inputs."""
    started = time.process_time()
    with suppress(Exception):  # a finding, which is shown already
        outcome(decoder, data)
    return time.process_time() - started


def _place(error: Exception) -> tuple[str, int]:
    """Return the place in the code where an error was raised."""
    step = error.__traceback__
    assert step is not None
    while step.tb_next is not None:
        step = step.tb_next
    return step.tb_frame.f_code.co_filename, step.tb_lineno


if __name__ == "__main__":
    sys.exit(main())
