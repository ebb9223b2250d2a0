"""Tokens of logs cannot be made up to read the messages of commits that one may not list."""

from __future__ import annotations

import pytest

from graveler_core.engine.reading.history import LogQuery
from graveler_core.errors import InvalidInput, PermissionDenied
from graveler_core.facade.repository import Repository
from graveler_core.model.ids import CommitId
from graveler_core.model.permission import Action
from graveler_core.refs import log_token
from graveler_core.refs.log import LogPosition
from tests.unit.engine.world import World, entry
from tests.unit.guard.principals import Says, Told, repository


def narrow() -> Told:
    """Someone who may list commits through `main` alone."""
    others = [Says(action) for action in Action if action is not Action.LIST_COMMITS]
    return Told(*others, Says(Action.LIST_COMMITS, branch="main"))


@pytest.fixture
def world() -> World:
    world = World()
    repo = world.repository()
    for number in range(4):
        repo.branch("main").stage(f"p{number}", entry(number))
        repo.branch("main").commit(f"public {number}")
    dev = repo.create_branch("dev", "main")
    dev.stage("secret", entry(9))
    dev.commit("hidden message")
    world.graveler().iam.set_up("ada")
    return world


def forged(repo: Repository, commit: str, key: bytes) -> str:
    """Return a token of `main` that begins at another commit."""
    return log_token.encode(LogPosition((CommitId(commit),)), LogQuery("main").question(repo._record), key)


@pytest.mark.parametrize("key", [b"", b"x" * 32], ids=["no key", "another key"])
def test_a_token_that_was_made_up_is_refused(world: World, key: bytes) -> None:
    hidden = world.graveler().repository("repo").at("dev").commit_id
    repo = repository(world, narrow())
    with pytest.raises(PermissionDenied):
        list(repo.log("dev"))
    with pytest.raises(InvalidInput, match="must be a token of a log"):
        list(repo.log("main", after=forged(repo, hidden, key)))


def test_a_token_of_one_process_resumes_the_log_in_another(world: World) -> None:
    whole = [each.message for each in repository(world, narrow()).log("main")]
    first = next(repository(world, narrow()).log("main").pages(2))
    assert first.next is not None
    rest = repository(world, narrow()).log("main", after=first.next)
    assert [each.message for each in (*first.items, *rest)] == whole
    with pytest.raises(InvalidInput):
        list(repository(world, narrow()).log("main", first_parent=True, after=first.next))


def test_a_token_from_before_the_setup_is_refused(world: World) -> None:
    first = next(world.graveler().repository("repo").log("main").pages(2))
    assert first.next is not None
    with pytest.raises(InvalidInput):
        list(repository(world, narrow()).log("main", after=first.next))
