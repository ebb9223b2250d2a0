"""The words `squash` and `replay`: what they mean, what is refused, and who is warned."""

from __future__ import annotations

import warnings

import pytest

from graveler_core.errors import InvalidInput
from graveler_core.facade.repository import Repository
from tests.unit.engine.world import World, entry


@pytest.fixture
def repo() -> Repository:
    made = World().repository()
    dev = made.create_branch("dev", "main")
    dev.stage("a", entry(1))
    dev.commit("on dev")
    return made


def test_the_default_is_a_merge_commit_without_a_warning(repo: Repository) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(repo.merge("dev", into="main").parents) == 2


@pytest.mark.parametrize("verb", ["merge", "check_merge"])
def test_the_former_word_for_a_replay_is_refused(repo: Repository, verb: str) -> None:
    head = repo.commit("main")
    with pytest.raises(InvalidInput, match="give replay=True to repeat them"):
        getattr(repo, verb)("dev", into="main", squash=False)
    with pytest.raises(InvalidInput, match="exclude each other"):
        getattr(repo, verb)("dev", into="main", squash=True, replay=True)
    assert repo.commit("main") == head


def test_a_squash_warns_where_it_is_written(repo: Repository) -> None:
    with pytest.warns(FutureWarning, match="used to make a merge commit with two parents") as told:
        made = repo.merge("dev", into="main", squash=True)
    assert len(made.parents) == 1
    assert [warning.filename for warning in told] == [__file__]
