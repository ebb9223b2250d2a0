"""Metadata of a repository: keys are set and removed one by one, concurrently too, and dumps keep them."""

from __future__ import annotations

import pytest

from graveler_core.errors import InvalidInput
from graveler_core.kv.store import Store
from graveler_core.model.repository_metadata import MAX_METADATA_BYTES
from tests.unit.engine.world import World


def test_keys_are_set_and_removed_and_others_stay() -> None:
    repo = World(name="repository-metadata").repository()
    assert repo.metadata() == {}
    assert repo.update_metadata({"team": "data", "owner": "eve"}) == {"owner": "eve", "team": "data"}
    assert repo.update_metadata({"owner": "ada"}, remove=["team", "none"]) == {"owner": "ada"}
    assert repo.update_metadata({"kept": "x"}, remove=["kept"]) == {"kept": "x", "owner": "ada"}
    assert repo.metadata() == {"kept": "x", "owner": "ada"}
    assert list(repo.metadata()) == ["kept", "owner"]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"": "x"}, "empty"),
        ({"a": 1}, "text to text"),
        ({1: "a"}, "text to text"),
        ({"a": "\ud800"}, "Unicode"),
        ({"a": "x" * MAX_METADATA_BYTES}, "the maximum is"),
        ("ab", "text to text"),
    ],
)
def test_metadata_that_is_not_valid_changes_nothing(values: dict[str, str], said: str) -> None:
    repo = World(name="repository-metadata").repository()
    repo.update_metadata({"kept": "x"})
    with pytest.raises(InvalidInput, match=said):
        repo.update_metadata(values)
    with pytest.raises(InvalidInput, match="list of keys"):
        repo.update_metadata(remove="kept")
    assert repo.metadata() == {"kept": "x"}


def test_two_calls_together_may_not_exceed_the_limit() -> None:
    repo = World(name="repository-metadata").repository()
    half = "x" * (MAX_METADATA_BYTES // 2)
    repo.update_metadata({"first": half})
    with pytest.raises(InvalidInput, match="the maximum is"):
        repo.update_metadata({"second": half})
    assert list(repo.metadata()) == ["first"]


def test_a_change_between_the_read_and_the_swap_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(name="repository-metadata")
    repo, other = world.repository(), world.graveler().repository("repo")
    between = iter([lambda: other.update_metadata({"theirs": "1"})])
    kept: Store = world.kv
    swap = type(kept).set_if

    def set_if(store: Store, *args: object, **kwargs: object) -> object:
        for change in between:
            change()
        return swap(store, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(type(kept), "set_if", set_if)
    assert repo.update_metadata({"mine": "2"}) == {"mine": "2", "theirs": "1"}


def test_dumps_keep_metadata() -> None:
    world = World(name="repository-metadata")
    repo = world.repository()
    repo.update_metadata({"owner": "eve"})
    uri = f"{world.namespace('dumps')}/dump"
    repo.dump_refs(uri)
    restored = world.graveler().create_bare_repository("restored", world.namespace("restored"))
    restored.restore_refs(uri)
    assert restored.metadata() == {"owner": "eve"}
