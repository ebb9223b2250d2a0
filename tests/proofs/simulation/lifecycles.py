"""The actors that create, delete and protect branches and repositories, and let time pass."""

from __future__ import annotations

from datetime import timedelta

from graveler_core.engine.references import branching
from graveler_core.engine.repositories import creation as repository
from graveler_core.engine.repositories import deletion, protection
from graveler_core.model.ids import RepositoryId
from graveler_core.model.protection import BranchAction, protection_rule
from graveler_core.refs.repositories import get as get_repository
from graveler_core.stores import Stores
from tests.proofs.simulation.cast import MAIN, OTHER, PATHS, SIDE, WORK, Cast
from tests.proofs.simulation.history import REPO, Value


def recreate_branch(cast: Cast, stores: Stores, name: str) -> None:
    targets = cast.observer.targets()
    if not targets:
        return
    target, content = cast.chance.choice(targets)
    with cast.history.operation("delete branch", name):
        branching.delete_branch(stores, REPO, WORK)
    with cast.history.operation("create branch", name, sets={path: content.get(path) for path in PATHS}):
        branching.create_branch(stores, REPO, WORK, target)


def recreate_repository(cast: Cast, stores: Stores, name: str) -> None:
    if cast.chance.random() < 0.8:
        with cast.history.operation("delete repository", name):
            deletion.delete_repository(stores, REPO)
    _create(cast, stores, name, REPO)
    for branch in (WORK, SIDE):
        sets: dict[str, Value] = dict.fromkeys(PATHS) if branch is WORK else {}
        with cast.history.operation("create branch", name, sets=sets):
            branching.create_branch(stores, REPO, branch, MAIN)


def other_repository(cast: Cast, stores: Stores, name: str) -> None:
    _create(cast, stores, name, OTHER)
    if cast.chance.random() < 0.5:
        with cast.history.operation("delete repository", name, repository=OTHER):
            deletion.delete_repository(stores, OTHER)


def time_passes(cast: Cast, stores: Stores, name: str) -> None:
    cast.scheduler.jump(timedelta(minutes=3))
    repo = cast.chance.choice([REPO, OTHER])
    with cast.history.operation("look", name, repository=repo):
        get_repository(stores.kv, stores.clock, stores.ids, repo)


def protect(cast: Cast, stores: Stores, name: str) -> None:
    """Rules come and go; some fit the branch under work, and some the repository is read-only."""
    with cast.history.operation("protect", name):
        if cast.chance.random() < 0.2:
            protection.set_read_only(stores, REPO, read_only=cast.chance.random() < 0.5)
        elif cast.chance.random() < 0.4:
            protection.set_protection(stores, REPO, ())
        else:
            blocks = cast.chance.sample(list(BranchAction), cast.chance.randint(1, 3))
            protection.protect(stores, REPO, protection_rule(cast.chance.choice(["w*k", "*", "side"]), blocks))


def _create(cast: Cast, stores: Stores, name: str, repo: RepositoryId) -> None:
    place = f"memory://bucket/{cast.chance.randrange(3)}{cast.chance.choice(['', '/in'])}"
    with cast.history.operation("create repository", name, repository=repo, mark=cast.mark()) as operation:
        wanted = repository.NewRepository(repo, place, MAIN, committer=operation.mark, adopt=True)
        repository.create_repository(stores, wanted)
