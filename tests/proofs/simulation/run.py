"""One history from one seed: set up, let the actors loose, look at what is left, judge.

python -m tests.proofs.simulation.run SEED [SEED …] [--theme NAME] [--trace]
python -m tests.proofs.simulation.run --histories 100000 [--from SEED] [--profile NAME] [--smallest] [--processes 2]

With `--smallest`, the thresholds of the library have their smallest values (`docs/thresholds.md`).
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from unittest.mock import patch

from graveler_core.committed.index.indexes import Sizes
from graveler_core.engine.committing import commit
from graveler_core.engine.committing.draft import Draft
from graveler_core.engine.reading.branch import get
from graveler_core.engine.repositories import protection
from graveler_core.engine.staging import bulk
from graveler_core.errors import NoChanges
from graveler_core.records import layout
from graveler_core.refs.repositories import get as get_repository
from graveler_core.stores import Stores
from tests import smallest as thresholds
from tests.proofs.simulation import (
    cleaning,
    collecting,
    erasing,
    permitting,
    references,
    sweeping,
    unreached,
)
from tests.proofs.simulation.beginning import people, set_up, weather
from tests.proofs.simulation.cast import PATHS, WORK, Cast
from tests.proofs.simulation.content import ContentJudge
from tests.proofs.simulation.history import AFTERWARDS, REPO, History
from tests.proofs.simulation.judges import Judges
from tests.proofs.simulation.observe import Observer
from tests.proofs.simulation.profiles import PROFILES
from tests.proofs.simulation.schedule import Scheduler
from tests.proofs.simulation.substitutes import substituted
from tests.proofs.simulation.themes import RARE_THEMES, THEMES
from tests.proofs.simulation.world import RUNS, TINY_SIZES, World

SIZES = dict.fromkeys(("indexes", *sweeping.THEMES), RUNS)
"""The shapes of indexes in some themes."""
PROGRESS = 500
"""Histories between two lines that say how far a run is."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A history and what is wrong with it."""

    seed: int
    violations: list[str]
    history: History
    trace: list[str]
    steps: int
    error: Exception | None = None
    """What ended the history early."""
    removed: int = 0
    """Number of headers that collections removed while others were at work."""

    def __str__(self) -> str:
        lines = [f"seed {self.seed}: {len(self.violations)} violations", *self.violations, "", *self.trace]
        return "\n".join([*lines, "", *(str(operation) for operation in self.history.operations)])


def simulate(seed: int, theme: str = "", *, trace: bool = False, smallest: bool = False, profile: str = "") -> Verdict:
    """The history of a seed, judged.

    Args:
        theme: What actors know to do, instead of what the seed draws.
        smallest: Patch the thresholds of the library to their smallest values.
        profile: What the store can do, instead of what the seed draws (`profiles.PROFILES`).
    """
    run = _permitted if theme == permitting.THEME else _simulate
    if not smallest:
        return run(seed, theme, profile=profile, trace=trace)
    values = thresholds.drawn(random.Random(f"thresholds {seed}"))
    sizes = replace(SIZES.get(theme, TINY_SIZES), **thresholds.fields(values))
    with thresholds.patched(values):
        return run(seed, theme, sizes, profile=profile, trace=trace)


def _permitted(seed: int, theme: str, sizes: Sizes | None = None, *, profile: str, trace: bool) -> Verdict:
    """A history of the theme that has actors and a judge of its own."""
    del theme
    scheduler = permitting.begun(seed, trace=trace)
    history = History(lambda: scheduler.step)
    violations = permitting.violations(scheduler, sizes, profile)
    return Verdict(seed, violations, history, scheduler.trace or [], scheduler.step)


def _simulate(seed: int, theme: str, sizes: Sizes | None = None, *, profile: str, trace: bool) -> Verdict:
    chance = random.Random(seed)
    scheduler = Scheduler(chance, trace=[] if trace else None)
    shapes, logs = sizes or SIZES.get(theme), theme == references.THEME
    world = World(scheduler, shapes, idle=theme in sweeping.THEMES, logs=logs, profile=profile)
    world.ages = theme in (*collecting.THEMES, *unreached.THEMES)
    history = History(lambda: scheduler.step)
    observer = Observer(world.kv, world.held, PATHS, REPO, WORK)
    cast = Cast(history, observer, scheduler)
    judges = Judges(world, history, observer, cast, theme)
    partitions = partial(world.filled, layout.object_partitions)
    with (
        substituted(scheduler),
        patch.object(bulk, "SEGMENT_ROWS", chance.choice([1, 1_000])),
        patch.object(layout, "object_partitions", partitions),
    ):
        violations, error = list[str](), None
        try:
            set_up(world)
            if theme in sweeping.THEMES:
                sweeping.leftover(world, history)
            judges.look()
            world.changed = judges.look
            if theme in collecting.THEMES:
                collecting.begin(world, cast, judges.content)
            if theme in unreached.THEMES:
                unreached.begin(world, cast, judges.headers)
            people(world, cast, theme)
            weather(scheduler, theme)
            scheduler.run()
            faultless, scheduler.fault_rate = scheduler.fault_rate == 0, 0
            _settle(world, history, judges.content, theme)
            _clean_to_the_end(world, history, theme)
        except Exception as e:
            violations, error = ["".join(traceback.format_exception(e))], e
        else:
            violations = judges.violations(faultless=faultless)
    removed = judges.headers.beside
    return Verdict(seed, violations, history, scheduler.trace or [], scheduler.step, error, removed)


def _settle(world: World, history: History, content: ContentJudge, theme: str) -> None:
    """After the storm, a new process reads and commits: whatever crashed, the next try completes. Nothing is protected
    any more."""
    content.all_have_ended(theme)
    stores = world.process()
    if any(operation.kind == "protect" for operation in history.operations):
        protection.set_protection(stores, REPO, ())
        protection.set_read_only(stores, REPO, read_only=False)
        for rule in get_repository(stores.kv, stores.clock, stores.ids, REPO).required_checks:
            protection.require_checks(stores, REPO, rule.model_copy(update={"checks": ()}))
    for act in (_read_all, _commit_rest, _read_all):
        act(stores, history)


def _clean_to_the_end(world: World, history: History, theme: str) -> None:
    """Long afterwards, remove all that nothing needs."""
    if theme in cleaning.THEMES:
        cleaning.clean_to_the_end(world)
    elif theme in collecting.THEMES:
        if theme in erasing.THEMES:
            erasing.erase_to_the_end(world, history)
        collecting.collect_to_the_end(world, theme)
    elif theme in unreached.THEMES:
        unreached.collect_to_the_end(world)
    else:
        return
    _read_all(world.process(), history)


def _read_all(stores: Stores, history: History) -> None:
    with history.operation("list", AFTERWARDS) as operation:
        found = {path: get(stores, REPO, WORK, path) for path in PATHS}
        operation.answer = {path: entry and entry.size for path, entry in found.items()}


def _commit_rest(stores: Stores, history: History) -> None:
    with history.operation("commit", AFTERWARDS) as operation:
        try:
            operation.answer = commit.commit(stores, REPO, WORK, Draft("rest")).id
        except NoChanges:
            operation.answer = "no changes"
            raise


def main(arguments: Sequence[str] | None = None) -> int:
    """Run seeds, print what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seeds", nargs="*", type=int)
    parser.add_argument("--histories", type=int, default=0)
    parser.add_argument("--from", dest="first", type=int, default=0)
    parser.add_argument("--theme", choices=sorted({*THEMES, *RARE_THEMES, permitting.THEME}), default="")
    parser.add_argument("--profile", choices=sorted(PROFILES), default="")
    parser.add_argument("--trace", action="store_true")
    parser.add_argument("--smallest", action="store_true", help="set all thresholds to their smallest values")
    parser.add_argument("--processes", type=int, default=1)
    options = parser.parse_args(arguments)
    seeds = options.seeds or range(options.first, options.first + options.histories)
    begun, bad, removed = time.perf_counter(), 0, 0
    work = partial(
        _report, theme=options.theme, trace=options.trace, smallest=options.smallest, profile=options.profile
    )
    for done, (violated, text, gone) in enumerate(_reports(work, seeds, options.processes), 1):
        bad += violated
        removed += gone
        if text:
            print(text, flush=True)
        if done % PROGRESS == 0 or done == len(seeds):
            spent = time.perf_counter() - begun
            found = f", {removed:,} headers removed" if removed else ""
            print(f"{done:,} histories, {bad} with violations, {done / spent:,.1f} a second{found}", flush=True)
    return 1 if bad else 0


def _report(seed: int, theme: str, *, trace: bool, smallest: bool, profile: str) -> tuple[bool, str, int]:
    """Return true if a history has violations, what to print of it, and the number of removed headers: processes can
    send this to one another.
    """
    verdict = simulate(seed, theme, trace=trace, smallest=smallest, profile=profile)
    violated = bool(verdict.violations)
    return violated, str(verdict) if violated or trace else "", verdict.removed


def _reports(
    work: Callable[[int], tuple[bool, str, int]], seeds: Sequence[int], processes: int
) -> Iterator[tuple[bool, str, int]]:
    if processes == 1:
        yield from map(work, seeds)
        return
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        yield from pool.imap(work, seeds, chunksize=10)


if __name__ == "__main__":
    sys.exit(main())
