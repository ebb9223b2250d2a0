"""Ref expressions: what each means, and what each bad one is told."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graveler_core.errors import InvalidInput, Kind, NotFound
from graveler_core.facade.repository import Repository
from graveler_core.model.entities import Commit
from graveler_core.model.ids import BranchId, TagId
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.refs.expression import Expression, parse
from tests.unit.engine.world import World, entry


@pytest.fixture(scope="module")
def world() -> World:
    return World()


@pytest.fixture(scope="module")
def repo(world: World) -> Repository:
    """main: root ← 1 ← merge; dev: root ← d; a tag on 1; something staged on main."""
    made = world.repository()
    main = made.branch("main")
    dev = made.create_branch("dev", "main")
    for branch, path in ((main, "1"), (dev, "d")):
        branch.stage(path, entry(1))
        branch.commit(path)
    made.create_tag("v1", "main")
    made.merge("dev", into="main", message="merge")
    main.stage("staged", entry(2))
    return made


def message(repo: Repository, ref: str) -> str:
    return repo.commit(ref).message


@pytest.mark.parametrize(
    ("ref", "wanted"),
    [
        ("main", "merge"), ("main@", "merge"), ("main~0", "merge"), ("main^0", "merge"),
        ("main~", "1"), ("main~1", "1"), ("main^", "1"), ("main^1", "1"), ("main^2", "d"),
        ("main~2", "Repository created"), ("main~~", "Repository created"), ("main^2~", "Repository created"),
        ("main^2^1", "Repository created"), ("main~1^0~1", "Repository created"),
        ("v1", "1"), ("v1~", "Repository created"), ("dev", "d"),
    ],
)  # fmt: skip
def test_what_they_mean(repo: Repository, ref: str, wanted: str) -> None:
    assert message(repo, ref) == wanted


def test_staged_or_not(repo: Repository) -> None:
    for ref, staged in (("main", True), ("main$", True), ("main@", False), ("main~0", False)):
        assert ("staged" in [item.path for item in repo.at(ref).list()]) == staged


def test_commit_ids_and_their_beginnings(repo: Repository) -> None:
    head = repo.commit("main").id
    for length in (64, 63, 20, 4):
        assert repo.commit(head[:length]).id == head
    assert message(repo, f"{head[:8]}~1") == "1"
    with pytest.raises(NotFound):
        repo.at(head[:3])


def test_a_name_is_a_branch_then_a_tag_then_a_commit(repo: Repository) -> None:
    """Names that read like abbreviated ids go first; a branch and a tag of one name can only come from a race."""
    head, first = repo.commit("main").id, repo.commit("v1").id
    repo.create_branch(first[:8], "main")
    assert repo.commit(first[:8]).id == head
    repo.delete_branch(first[:8])
    repo.create_tag(first[:8], "main")
    assert repo.commit(first[:8]).id == head
    repo.delete_tag(first[:8])
    assert repo.commit(first[:8]).id == first


def test_a_complete_commit_id_means_the_commit(world: World, repo: Repository) -> None:
    """A restoration or a former version may have brought a tag or branch with such a name."""
    head, first = repo.commit("main").id, repo.commit("v1").id
    for create in (repo.create_branch, repo.create_tag):
        with pytest.raises(InvalidInput, match="must not have the form of a commit id") as caught:
            create(first, "main")
        assert caught.value.kind is Kind.InvalidName
    where = keys.branch(repo._record, BranchId(first)), keys.tag(repo._record, TagId(first))
    branch = access.read(world.kv, keys.branch(repo._record, BranchId("main")))
    tag = access.read(world.kv, keys.tag(repo._record, TagId("v1")))
    assert branch is not None
    assert tag is not None
    access.write(world.kv, where[0], branch.value)
    access.write(world.kv, where[1], tag.value.model_copy(update={"commit_id": head}))
    assert repo.commit(first).id == first
    assert repo.commit(f"{first}~0").id == first
    for each in where:
        world.kv.delete(each.partition, each.key)


def test_an_ambiguous_beginning(world: World, repo: Repository) -> None:
    head = repo.commit("main").id
    stored = access.read(world.kv, keys.commit(repo._record, head))
    assert stored is not None
    twin = type(head)(head[:40] + "0" * 24)
    access.write(world.kv, keys.commit(repo._record, twin), Commit.model_validate(stored.value.model_dump()))
    for length in (4, 40):
        with pytest.raises(InvalidInput) as caught:
            repo.at(head[:length])
        assert caught.value.kind is Kind.AmbiguousRef
    assert repo.commit(head).id == head
    world.kv.delete(keys.partition(repo._record), keys.commit(repo._record, twin).key)


@pytest.mark.parametrize(
    "ref",
    ["", "~1", "@", "$", "main~1@", "main^$", "main@$", "main$~1", "main@@", "a b", "main~-1", "main~x", "main/x",
     "int", "a..b", "main~1234567890", "ä", "main~٣", "main\n", ".a", "x" * 256, "main^^@"],
)  # fmt: skip
def test_what_is_no_expression(repo: Repository, ref: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        repo.at(ref)
    assert caught.value.kind is Kind.InvalidRef
    assert repr(ref) in caught.value.message


@pytest.mark.parametrize("ref", ["v1@", "v1$"])
def test_views_are_of_branches(repo: Repository, ref: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        repo.at(ref)
    assert caught.value.kind is Kind.InvalidRef


def test_a_commit_has_no_view(repo: Repository) -> None:
    with pytest.raises(InvalidInput):
        repo.at(repo.commit("main").id + "@")


@pytest.mark.parametrize("ref", ["nobody", "main~3", "main~999999999", "main^3", "dev^2", "abcdef123", "Main"])
def test_what_does_not_exist(repo: Repository, ref: str) -> None:
    with pytest.raises(NotFound) as caught:
        repo.at(ref)
    assert caught.value.kind is Kind.RefNotFound
    assert caught.value.details["ref"] == ref


@pytest.mark.parametrize("call", ["log", "diff", "merge", "tag", "commit", "branch"])
def test_what_is_staged_is_no_commit(repo: Repository, call: str) -> None:
    calls: dict[str, Callable[[], object]] = {
        "log": lambda: repo.log("main$"),
        "diff": lambda: list(repo.diff("dev", "main$")),
        "merge": lambda: repo.merge("main$", into="dev"),
        "tag": lambda: repo.create_tag("v9", "main$"),
        "commit": lambda: repo.commit("main$"),
        "branch": lambda: repo.create_branch("b9", "main$"),
    }
    with pytest.raises(InvalidInput) as caught:
        calls[call]()
    assert caught.value.kind is Kind.InvalidRef


@given(st.text(max_size=12))
def test_any_text_parses_or_is_refused(text: str) -> None:
    try:
        parsed = parse(text)
    except InvalidInput as e:
        assert e.kind is Kind.InvalidRef  # noqa: PT017 - either answer is right
    else:
        assert parsed.text == text
        assert text.startswith(parsed.name)


def test_parts() -> None:
    assert parse("main~2^3~") == Expression("main~2^3~", "main", (("~", 2), ("^", 3), ("~", 1)), "")
    assert parse("a.b-c_d@") == Expression("a.b-c_d@", "a.b-c_d", (), "@")
