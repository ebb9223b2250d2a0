"""The beginning of a history: a repository, actors with their calls, and the faults that strike them."""

from __future__ import annotations

from graveler_core.engine.compacting import compaction
from graveler_core.engine.reading.branch import get
from graveler_core.engine.references.branching import create_branch
from graveler_core.engine.repositories import creation as repository
from graveler_core.engine.repositories.creation import NewRepository
from graveler_core.engine.staging import remove as removing
from tests.proofs.simulation import cleaning, collecting
from tests.proofs.simulation.cast import MAIN, PATHS, SIDE, WORK, Cast
from tests.proofs.simulation.history import REPO
from tests.proofs.simulation.schedule import FAULTS, Fate, Scheduler
from tests.proofs.simulation.themes import (
    ACTS,
    LIFECYCLE,
    OTHERS,
    RARE_THEMES,
    THEMES,
    change,
    collect_all,
    collect_for_days,
    life,
    put_again,
    put_if,
)
from tests.proofs.simulation.world import World


def set_up(world: World) -> None:
    """A repository with a side branch, and a branch with nothing staged; perhaps with a compacted tree that is the
    head's own, which only an operation that moves the head can show.
    """
    stores = world.process()
    repository.create_repository(stores, NewRepository(REPO, "memory://bucket/first", MAIN, adopt=True))
    create_branch(stores, REPO, SIDE, "main")
    create_branch(stores, REPO, WORK, "main")
    if world.scheduler.chance.random() < 0.3:
        removing.remove(stores, REPO, WORK, [PATHS[0]])
        compaction.compact(stores, REPO, WORK)


def people(world: World, cast: Cast, theme: str) -> None:
    """Actors of random kinds; some processes have read the branch before, and hold an old record of it; some have more
    threads than one. Half of the histories know few kinds of acts, which meet all the more often (Groce et al., 2012);
    some know those of a theme.
    """
    chance = cast.chance
    known = ACTS | LIFECYCLE if chance.random() < 0.2 else ACTS
    kinds = chance.sample(list(known), chance.randint(3, 6)) if chance.random() < 0.5 else list(known)
    if chance.random() < 0.2:
        kinds = list(chance.choice(list(THEMES.values())))
    kinds = list((THEMES | RARE_THEMES)[theme]) if theme else kinds
    one = put_again in kinds or put_if in kinds
    cast.paths = PATHS[:1] if one else PATHS[:2] if theme == collecting.ERASED_PUTS else PATHS
    weights = [(ACTS | LIFECYCLE | OTHERS)[kind] for kind in kinds]
    long = any(act in kinds for act in (change, collect_all, collect_for_days))
    process, stores = 0, world.process()
    apart = chance.choice([0.9, 0.65, 0.2])
    for number in range(chance.randint(3, 6)):
        plan = chance.choices(kinds, weights, k=chance.randint(1, 8 if long else 4))
        if chance.random() < apart:
            process, stores = number, world.process()
            if chance.random() < 0.7:
                get(stores, REPO, WORK, PATHS[0])
        name = f"{number}-{plan[0].__name__}"
        world.scheduler.spawn(name, process, life(cast, stores, name, plan))


def weather(scheduler: Scheduler, theme: str) -> None:
    """How many faults strike, of which kinds, and how slow answers are."""
    chance = scheduler.chance
    scheduler.slow_answers = chance.choice([0.05, 0.15, 0.4])
    lost, crash = (Fate.LOST_REQUEST, Fate.LOST_ANSWER, Fate.LATE), (Fate.CRASH_BEFORE, Fate.CRASH_AFTER)
    rates = {FAULTS: (0.01, 0.05), lost: (0.05, 0.15), crash: (0.01, 0.04)}
    if theme == cleaning.UNHEARD:  # what it is after needs one to be lost at one step: in any weather one seed in 10⁵
        scheduler.faults, scheduler.swaps_only, scheduler.fault_rate = lost, True, chance.choice([0.1, 0.3])
    elif chance.random() < 0.6:
        scheduler.faults = chance.choice(list(rates))
        scheduler.fault_rate = chance.choice(rates[scheduler.faults])
        scheduler.outages = chance.random() < 0.3
        # What an engine does about a lost answer of a swap, and of the next one, is asked nowhere else.
        if scheduler.faults == lost and chance.random() < 0.5:
            scheduler.swaps_only, scheduler.fault_rate = True, chance.choice([0.2, 0.5])
