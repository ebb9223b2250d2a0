"""Branch records show no staged prefix, and no name of a partition, to callers who may only list branches."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from graveler_core.engine.staging.pressure import BranchPressure
from graveler_core.facade.graveler import Graveler
from graveler_core.model.entities import BranchRecord, RepositoryRecord
from graveler_core.model.layers import PrefixRemoval, SealedToken
from graveler_core.model.permission import Action
from tests.unit.engine.world import World, entry
from tests.unit.guard.principals import Says, Told, everything, guarded

EVERY = "arn:graveler:fs:::repository/repo/object/*"
SECRET = "arn:graveler:fs:::repository/repo/object/secret/*"
RECORDS: dict[str, Callable[[Graveler], BranchRecord]] = {
    "record": lambda g: g.repository("repo").branch("main").record(),
    "branches": lambda g: next(g.repository("repo").branches()),
    "branches by head": lambda g: next(g.repository("repo").branches(order_by="commit_id")),
    "pressure": lambda g: g.repository("repo").branch("main").pressure().branch,
    "exact pressure": lambda g: g.repository("repo").branch("main").pressure(exact=True).branch,
    "pressures": lambda g: next(g.pressures()).branch,
}


@pytest.fixture(scope="module")
def world() -> World:
    """A branch with removed prefixes, sealed tokens, and so many layers that it is listed among the pressures."""
    world = World()
    main = world.repository().branch("main")
    main.stage("secret/plan/a", entry(1))
    main.commit("begin")
    for number in range(12):
        main.stage(f"secret/plan/{number}", entry(number))
        main.remove_prefix("secret/plan/")
    return world


def blind() -> Told:
    return everything(Says(Action.LIST_OBJECTS, SECRET, deny=True))


@pytest.mark.parametrize("name", sorted(RECORDS))
def test_no_name_is_shown_to_those_who_may_not_list_every_path(world: World, name: str) -> None:
    kept = RECORDS[name](world.graveler())
    tokens = [layer.id for layer in kept.sealed_tokens]
    assert any(isinstance(layer, PrefixRemoval) and layer.prefix for layer in kept.sealed_tokens)
    assert any(isinstance(layer, SealedToken) for layer in kept.sealed_tokens)
    shown = RECORDS[name](guarded(world, blind()))
    said = shown.model_dump_json()
    assert "secret" not in said
    assert not [token for token in [*tokens, kept.staging_token] if token in said]
    assert [layer.kind for layer in shown.sealed_tokens] == [layer.kind for layer in kept.sealed_tokens]
    assert len({layer.id for layer in shown.sealed_tokens}) == len({*tokens})
    assert (shown.id, shown.commit_id, shown.uid) == (kept.id, kept.commit_id, kept.uid)
    assert RECORDS[name](guarded(world, blind())) == shown


@pytest.mark.parametrize("name", sorted(RECORDS))
def test_the_record_is_complete_for_those_who_may_list_every_path(world: World, name: str) -> None:
    told = everything(Says(Action.READ_OBJECT, EVERY, deny=True))
    assert RECORDS[name](guarded(world, told)) == RECORDS[name](world.graveler())


PRESSURES: dict[str, Callable[[Graveler], BranchPressure]] = {
    "pressure": lambda g: g.repository("repo").branch("main").pressure(),
    "exact pressure": lambda g: g.repository("repo").branch("main").pressure(exact=True),
    "pressures": lambda g: next(g.pressures()),
}


@pytest.mark.parametrize("name", sorted(PRESSURES))
def test_rules_and_webhooks_are_shown_to_those_who_may_read_them(world: World, name: str) -> None:
    repo = world.graveler().repository("repo")
    repo.set_hook("hook", "http://internal/", ["post-commit"])
    repo.protect("release-*")
    repo.require_checks("release-*", ["rows"])
    kept = PRESSURES[name](world.graveler()).repository
    assert kept.webhooks
    rules = {"protection": (), "required_checks": ()}

    def shown(*denied: Action) -> RepositoryRecord:
        return PRESSURES[name](guarded(world, everything(*(Says(action, deny=True) for action in denied)))).repository

    assert shown() == kept
    assert shown(Action.READ_HOOKS) == kept.model_copy(update={"webhooks": ()})
    assert shown(Action.GET_BRANCH_PROTECTION) == kept.model_copy(update=rules)


def test_the_branch_through_which_one_may_list_counts(world: World) -> None:
    others = [Says(action) for action in Action if action is not Action.LIST_OBJECTS]
    through = lambda branch: Told(*others, Says(Action.LIST_OBJECTS, branch=branch))  # noqa: E731
    record = RECORDS["record"]
    assert record(guarded(world, through("main"))) == record(world.graveler())
    assert "secret" not in record(guarded(world, through("dev"))).model_dump_json()
