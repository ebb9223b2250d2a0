"""Steps of upkeep: checks, sweeps, cleaners, time that passes. Nobody sees any of it."""

from __future__ import annotations

from datetime import timedelta
from random import Random

from graveler_core.facade.repository import Repository
from graveler_core.gc.layout_removal import LayoutRemovals
from tests.proofs.differential.model import Repo
from tests.proofs.differential.world import World


def fsck(w: World, r: Random) -> None:
    """Nothing is damaged; what is unreachable is what the model says."""
    w.said = ("fsck",)
    repo = w.use(r).repo
    sound(w, repo, w.model, deep=r.random() < 0.6)
    if r.random() < 0.3:
        found = {check.branch: check for check in repo.check_references() if check.branch}
        w.equal("checked branches", sorted(found), sorted(w.model.branches))


def sound(w: World, repo: Repository, model: Repo, *, deep: bool) -> None:
    """Check a repository."""
    found = [*repo.fsck(deep=deep)]
    w.equal("damage", [finding for finding in found if finding.damage], [])
    w.equal("removed layouts", repo.remove_damaged_layouts(), LayoutRemovals((), ()))
    reachable = frozenset().union(*map(model.ancestors, [b.head for b in model.branches.values()]))
    reachable = reachable.union(*map(model.ancestors, model.tags.values()))
    # Commits of the log of references are known to `fsck` alone.
    unreachable = sorted(f.id for f in found if f.thing == "commit" and f.id in model.commits)
    w.equal("unreachable commits", unreachable, sorted(model.commits.keys() - reachable))


def repair_indexes(w: World, r: Random) -> None:
    """Nothing needs a repair."""
    w.said = ("repair indexes",)
    made = w.use(r).repo.repair_indexes()
    w.equal("repairs", (made.repaired, made.unrepaired), ((), ()))


def sweep(w: World, r: Random) -> None:
    """Delete what nothing names: after some days, or at once where nobody else is at work."""
    alone = r.random() < 0.3
    w.said = ("sweep", alone)
    repo = w.use(r).repo
    if alone:
        repo.sweep(grace=timedelta(0), alone=True, limit=r.choice((None, 2)))
    else:
        w.clock.sleep(86_400 * r.randint(0, 3))
        repo.sweep(grace=timedelta(days=1), uploads=r.random() < 0.3, dry_run=r.random() < 0.2)


def clean(w: World, r: Random) -> None:
    """Remove what deletions and committed layers left. Keys are forgotten after a week."""
    days = r.choice((0, 0, 1, 8))
    w.said = ("clean", days)
    w.clock.sleep(86_400 * days)
    w.forget_keys()
    graveler = w.use(r).graveler
    late = timedelta(0) if r.random() < 0.5 else timedelta(minutes=10)
    after = None
    while True:
        cleaned = graveler.clean(late=late, limit=r.choice((1, 7, None)), after=after)
        w.equal("failures", list(cleaned.failures), [])
        after = cleaned.next
        if after is None:
            break
    w.require(graveler.waiting() is not None, "nothing waits")


def time_passes(w: World, r: Random) -> None:
    """Caches and claims grow old."""
    seconds = r.choice((1, 31, 130, 700, 4_000, 90_000))
    w.said = ("time passes", seconds)
    w.clock.sleep(seconds)


def doctor(w: World, r: Random) -> None:
    """The doctor reads only."""
    w.said = ("doctor",)
    examined = w.use(r).graveler.doctor(budget=1e9, repository="lake", deep=r.random() < 0.2)
    w.require(examined is not None, "no answer")


def properties(w: World, r: Random) -> None:
    """What a handle says of its repository, and the list of repositories."""
    w.said = ("properties",)
    handle = w.use(r)
    repo = handle.repo
    said = (repo.id, repo.storage_namespace, repo.default_branch, repo.state)
    w.equal("properties", said, ("lake", w.namespace, w.model.default, "active"))
    w.equal("name of a branch", w.branch(handle, "main").id, "main")
    w.equal("uid", repo.uid, w.handles[0].repo.uid)
    w.equal("created", repo.creation_date, w.handles[0].repo.creation_date)
    w.equal("repositories", [found.id for found in handle.graveler.list_repositories()], ["lake"])
    w.equal("repositories behind", [found.id for found in handle.graveler.list_repositories(after="lake")], [])
