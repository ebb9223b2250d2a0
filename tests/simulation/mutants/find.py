"""The first seeds that show each mutant.

python -m tests.simulation.mutants.find [NAME …] [--from SEED] [--limit HISTORIES]
"""

from __future__ import annotations

import argparse

from tests.simulation.mutants.every import MUTANTS
from tests.simulation.mutants.plant import Mutant
from tests.simulation.run import Verdict, simulate


def hunted(mutant: Mutant, seed: int) -> Verdict:
    """The history of a seed with a bug planted."""
    with mutant.planted():
        return simulate(seed)


def main() -> None:
    """Print each mutant's first seed, and what its judges say."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--from", dest="first", type=int, default=0)
    parser.add_argument("--limit", type=int, default=2_000)
    options = parser.parse_args()
    for name in options.names or sorted(MUTANTS):
        for seed in range(options.first, options.first + options.limit):
            verdict = hunted(MUTANTS[name], seed)
            if verdict.violations:
                print(f"{name}: seed {seed}: {verdict.violations[0].strip().splitlines()[-1]}", flush=True)
                break
        else:
            print(f"{name}: survived {options.limit} histories", flush=True)


if __name__ == "__main__":
    main()
