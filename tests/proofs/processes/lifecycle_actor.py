"""One process of those that create, delete, clean, undelete, and move repositories by dumps, on one store.

It goes on until the file `stop` appears, its parent goes, or it is killed. Of the mover the next life goes on with the
move that the last one was at: it repeats all steps of it.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from time import sleep
from typing import Final

from graveler_core.blobs.open import OpenedBlobs
from graveler_core.errors import Conflict, Kind, NotFound, NotUnique, OutcomeUnknown, SlowDown, Unavailable
from graveler_core.facade.graveler import Graveler
from graveler_core.kv.registry import open_store
from graveler_core.model.entry import Entry
from graveler_core.stores import RegisterCache, Stores
from tests.proofs.processes.actor import Orders, is_stopped
from tests.proofs.processes.fast_clock import fast_clock
from tests.proofs.processes.journal import Journal, read

SHARED: Final = ("ann", "bob", "cid")
"""Names that are created, deleted and undeleted by all."""
PLACES: Final = 5
"""Storage namespaces of theirs, so few that one repository is in the way of another now and then."""
KEPT: Final = 5
"""One creation of so many is of a name of its own, which nobody deletes."""
JOURNALS: Final = "journals"
COMMITTED, STAGED = "committed", "staged"
"""What is in a repository that was filled."""
SOURCE: Final = "source"
"""What is dumped; nobody deletes it."""


@dataclass(frozen=True)
class Actor:
    """A life of a process."""

    graveler: Graveler
    journal: Journal
    chance: random.Random
    home: Path


def opened(url: str, home: Path) -> Stores:
    """The store, with the clock of the run; in its home are the clock, all objects, and the journals."""
    clock = fast_clock(home / "clock")
    return Stores(
        kv=open_store(url),
        blobs=OpenedBlobs(None, durable=False),
        clock=clock,
        registers=RegisterCache(now=clock.wall),
        wall=clock.wall,
    )


def live(orders: Orders) -> None:
    """What a process does with its life."""
    home = orders.directory.parent
    journal, clock = Journal(orders.directory, orders.name), fast_clock(home / "clock")
    verbs: dict[str, Callable[[Actor], None]] = {
        "n": create,
        "d": delete,
        "k": clean,
        "u": undelete,
        "m": move,
        "r": look,
    }
    with closing(opened(orders.url, home)) as stores:
        chance = random.Random(f"{orders.name} {journal.number}")
        actor = Actor(Graveler(stores), journal, chance, home)
        while not is_stopped(orders):
            sleep(chance.uniform(0, 0.05))
            with clock.call():
                _tried(actor, verbs[orders.name[0]])


def _tried(actor: Actor, verb: Callable[[Actor], None]) -> None:
    """One call, or a few, and how it ended."""
    try:
        verb(actor)
    except (OutcomeUnknown, SlowDown, Unavailable) as error:
        actor.journal.end("unknown", repr(error))
    except (NotUnique, Conflict) as error:
        actor.journal.end("refused", repr(error))
    except Exception as error:
        refused = isinstance(error, NotFound) and is_gone(error)
        actor.journal.end("refused" if refused else "crashed", repr(error))
        if not refused:
            raise


def is_gone(error: NotFound) -> bool:
    """Whether a repository was not found, rather than a part of one that is there."""
    return error.kind in (Kind.RepositoryNotFound, Kind.RepositoryDeleting)


def create(actor: Actor) -> None:
    """Creates a repository; then commits in it and stages."""
    journal = actor.journal
    mark = f"{journal.actor}:{journal.number}"
    name, place = actor.chance.choice(SHARED), f"objects/shared-{actor.chance.randrange(PLACES)}"
    if actor.chance.randrange(KEPT) == 0:
        name = f"kept-{journal.actor}-{journal.number}"
        place = f"objects/{name}"
    journal.begin("create", {"name": name, "mark": mark})
    uid = actor.graveler.create_repository(name, (actor.home / place).as_uri(), committer=mark, adopt=True).uid
    journal.end("done", uid)
    journal.begin("fill", {"name": name, "mark": mark})
    branch = actor.graveler.repository(name).branch("main")
    branch.put(COMMITTED, mark.encode())
    branch.commit(mark, committer=mark)
    branch.stage(STAGED, Entry(address="data/x", size=1, checksum=mark))
    # A later repository may bear the name by now, and have got all this instead.
    journal.end("done" if actor.graveler.repository(name).uid == uid else "refused", uid)


def delete(actor: Actor) -> None:
    """Deletes a repository of a shared name."""
    name = actor.chance.choice(SHARED)
    actor.journal.begin("delete", {"name": name})
    actor.graveler.delete_repository(name)
    actor.journal.end("done")


def undelete(actor: Actor) -> None:
    """Brings one back."""
    name = actor.chance.choice(SHARED)
    actor.journal.begin("undelete", {"name": name})
    actor.journal.end("done", actor.graveler.undelete_repository(name).uid)


def clean(actor: Actor) -> None:
    """One walk of a cleaner, in steps."""
    actor.journal.begin("clean", {})
    after: str | None = None
    removed = 0
    while True:
        done = actor.graveler.clean(undelete_within=timedelta(0), after=after, limit=actor.chance.randint(1, 30))
        removed += done.repositories + done.deletions + done.claims
        after = done.next
        if after is None:
            break
    actor.journal.end("done", str(removed))


def move(actor: Actor) -> None:
    """Dumps the source, and restores it into a new bare repository on a copy of its namespace: all of it repeatable."""
    lives = (actor.home / JOURNALS).glob(f"{actor.journal.actor}.*.jsonl")
    number = sum(operation.outcome == "done" for life in lives for operation in read(life))
    actor.journal.begin("move", {"name": f"moved-{number}"})
    actor.journal.end("done", moved(actor.graveler, actor.home / "objects", number))


def moved(graveler: Graveler, objects: Path, number: int) -> str:
    """Moves for the so manieth time; the commit that was the head then."""
    source, name = graveler.repository(SOURCE), f"moved-{number}"
    main = source.branch("main")
    main.put("number", str(number).encode())
    head = main.commit(name, idempotency_key=name).id
    with suppress(NotUnique):
        source.create_tag(name, head)
    dump = (objects / f"dumps/{number}").as_uri()
    with suppress(NotUnique):
        source.dump_refs(dump)
    shutil.copytree(objects / SOURCE, objects / name, dirs_exist_ok=True)
    with suppress(NotUnique):
        graveler.create_bare_repository(name, (objects / name).as_uri(), adopt=True)
    graveler.repository(name).restore_refs(dump)
    return head


def look(actor: Actor) -> None:
    """Reads all repositories that are listed: each has its first commit at least."""
    actor.journal.begin("look", {})
    seen = 0
    for repository in actor.graveler.list_repositories():
        if repository.id.startswith("moved-"):
            continue
        try:
            list(repository.at("main").list())
            seen += any(entry.generation == 1 for entry in repository.log("main"))
        except NotFound as error:
            if not is_gone(error):
                raise
    actor.journal.end("done", str(seen))
