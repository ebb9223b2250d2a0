"""The first seeds that show each mutant, and the table of all of them in `docs/simulation.md`.

python -m tests.proofs.simulation.mutants.find [NAME …] [--from SEED] [--limit HISTORIES] [--stale] [--record]
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from graveler_core.errors import GravelerError
from tests.proofs.simulation.mutants.every import MUTANTS
from tests.proofs.simulation.mutants.plant import GARBAGE, Mutant
from tests.proofs.simulation.retirement import LEFT
from tests.proofs.simulation.run import Verdict, simulate
from tests.proofs.simulation.schedule import Hang

PAGE = Path(__file__).parents[4] / "docs" / "simulation.md"
ROW = re.compile(r"^\| `(\w+)` \|.*\n", re.MULTILINE)


def hunted(mutant: Mutant, seed: int) -> Verdict:
    """The history of a seed with a bug planted."""
    with mutant.planted():
        verdict = simulate(seed, mutant.theme)
    # What was planted may make the engine fail, but in the engine's own words, and while actors are at work: else the
    # mutant itself is broken.
    expected = isinstance(verdict.error, GravelerError | Hang | AssertionError) and verdict.steps > 0
    if verdict.error is not None and not expected:
        raise verdict.error
    return verdict


def found_at(mutant: Mutant, first: int, histories: int) -> Verdict | None:
    """The first history that shows a mutant, of some from a seed on."""
    verdicts = (hunted(mutant, seed) for seed in range(first, first + histories))
    return next((verdict for verdict in verdicts if _shown(mutant, verdict)), None)


def _shown(mutant: Mutant, verdict: Verdict) -> list[str]:
    """What is wrong with a history; where more than garbage was planted, garbage is not enough."""
    wrong = verdict.violations
    return wrong if mutant.breaks == GARBAGE else [v for v in wrong if not v.startswith(LEFT)]


def rows() -> Iterator[str]:
    """The table of the page."""
    for mutant in sorted(MUTANTS.values(), key=lambda m: (m.breaks, m.name)):
        yield f"| `{mutant.name}` | {mutant.what} | {mutant.breaks} | {mutant.theme} | {mutant.seed} |\n"


def record(seeds: dict[str, int]) -> None:
    """Write seeds into the sources of the mutants, and into the table."""
    for source in Path(__file__).parent.glob("*.py"):
        text = before = source.read_text()
        for name, seed in seeds.items():
            text = re.sub(rf"@mutant\(seed=\d+(.*\ndef {name}\()", rf"@mutant(seed={seed}\1", text)
        if text != before:
            source.write_text(text)
    page = PAGE.read_text()
    for name, seed in seeds.items():
        page = re.sub(rf"^(\| `{name}` \|.*) \d+ \|$", rf"\1 {seed} |", page, flags=re.MULTILINE)
    PAGE.write_text(page)


def main() -> int:
    """Print each mutant's first seed, and what its judges say; 1 if one survives."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--from", dest="first", type=int, default=0)
    parser.add_argument("--limit", type=int, default=4_000)
    parser.add_argument("--stale", action="store_true", help="only those that their recorded seed does not show")
    parser.add_argument("--record", action="store_true", help="write the seeds into the sources and the table")
    options = parser.parse_args()
    survived = 0
    for name in options.names or sorted(MUTANTS):
        if options.stale and found_at(MUTANTS[name], MUTANTS[name].seed, 1):
            continue
        verdict = found_at(MUTANTS[name], options.first, options.limit)
        if verdict is None:
            survived += 1
            print(f"{name}: survived {options.limit:,} histories from seed {options.first:,} on", flush=True)
            continue
        if options.record:
            record({name: verdict.seed})
        print(f"{name}: seed {verdict.seed}: {_shown(MUTANTS[name], verdict)[0].strip().splitlines()[-1]}", flush=True)
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())
