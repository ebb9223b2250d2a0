"""Commits that something else made become commits of ours: what they lack is computed."""

from __future__ import annotations

from datetime import timedelta

import pytest

from graveler_core.codec.records import encode
from graveler_core.errors import CorruptData, InvalidInput
from graveler_core.facade.repository import Repository
from graveler_core.model.dump import DumpedBranch, DumpedRepository, ForeignCommit
from graveler_core.model.entities import Tag
from graveler_core.model.ids import BranchId, CommitId, MetarangeId, RepositoryId, TagId
from graveler_core.transfer.format import RowKind as Rows
from tests.golden.history import NAME
from tests.unit.engine.world import START, World
from tests.unit.segments.blocks import small_blocks
from tests.unit.transfer.moves import Original, bare, elsewhere, kept, shown
from tests.unit.transfer.test_damaged_dumps import Pair, written

REFS = ("main~3", "v1", "main")


def foreign(made: Original, n: int, parents: tuple[int, ...], ref: str) -> ForeignCommit:
    """A commit of the content of a ref. Their ids are as long as ours."""
    return ForeignCommit(
        id=f"{n:064x}",
        metarange_id=MetarangeId(made.repo.at(ref).tree_id()),
        parents=tuple(f"{parent:064x}" for parent in parents),
        message=f"commit {n}",
        committer="somebody",
        creation_date=START + timedelta(days=n),
        metadata={"z": "1", "a": "2"},
    )


def history(made: Original) -> list[ForeignCommit]:
    """A root, two children, a merge of them."""
    return [
        foreign(made, 9, (), REFS[0]),
        foreign(made, 3, (9,), REFS[1]),
        foreign(made, 5, (9,), REFS[2]),
        foreign(made, 1, (5, 3), REFS[2]),
    ]


def dump_of(commits: list[ForeignCommit], heads: dict[str, str], tags: dict[str, str]) -> bytes:
    repository = DumpedRepository(
        id=RepositoryId("theirs"), default_branch=BranchId("main"), boundary_seed=5, format_version=1
    )
    rows: list[Pair] = [(Rows.REPOSITORY, encode(repository))]
    for name, head in sorted(heads.items()):
        rows.append((Rows.BRANCH, encode(DumpedBranch(id=BranchId(name), commit_id=CommitId(head)))))
    rows += [(Rows.TAG, encode(Tag(id=TagId(name), commit_id=CommitId(id)))) for name, id in sorted(tags.items())]
    rows += [(Rows.FOREIGN, encode(commit)) for commit in commits]
    return written(rows)


def restored(made: Original, data: bytes) -> tuple[Repository, dict[str, CommitId], World]:
    world = elsewhere(made)
    repo = bare(world)
    return repo, repo.restore_refs(kept(world, data)).renamed, world


@small_blocks()  # their ends depend on the seed, which is the dump's
def test_they_become_commits(made: Original) -> None:
    commits = history(made)
    data = dump_of(commits, {"main": commits[3].id, "side": commits[1].id}, {"first": commits[0].id})
    repo, renamed, _ = restored(made, data)
    assert renamed.keys() == {commit.id for commit in commits}
    generations = [repo.commit(renamed[commit.id]).generation for commit in commits]
    assert generations == [1, 2, 2, 3]
    for commit in commits:
        found = repo.commit(renamed[commit.id])
        assert found.parents == tuple(renamed[parent] for parent in commit.parents)
        assert (found.message, found.committer, found.creation_date) == (
            commit.message,
            commit.committer,
            commit.creation_date,
        )
        assert found.metadata == commit.metadata
        assert repo.at(found.id).tree_id() == commit.metarange_id
    assert {branch.id: branch.commit_id for branch in repo.branches()} == {
        "main": renamed[commits[3].id],
        "side": renamed[commits[1].id],
    }
    assert [tag.commit_id for tag in repo.tags()] == [renamed[commits[0].id]]
    assert shown(repo, "main") == made.expected.states["main"]
    assert not [finding for finding in repo.fsck(deep=True) if finding.damage]


def test_ids_are_the_same_each_time(made: Original) -> None:
    commits = history(made)
    data = dump_of(commits, {"main": commits[3].id}, {})
    _, first, _ = restored(made, data)
    repo, second, world = restored(made, data)
    assert first == second
    again = repo.dump_refs(f"memory://dumps/{world.name}")
    assert again.commits == 4
    there = elsewhere(made)
    bare(there).restore_refs(again.uri)
    assert [c.id for c in there.graveler().repository(NAME).log("main")] == [c.id for c in repo.log("main")]


def test_beside_commits_of_ours(made: Original) -> None:
    """One dump may hold both; neither is a parent of the other."""
    from tests.unit.transfer.test_damaged_dumps import pairs

    commits = history(made)
    theirs = [(Rows.FOREIGN, encode(commit)) for commit in commits]
    tag = (Rows.TAG, encode(Tag(id=TagId("zz"), commit_id=CommitId(commits[3].id))))
    rows = [*pairs(made), *theirs, tag]
    repo, renamed, _ = restored(made, written(sorted(rows, key=lambda row: row[0])))
    assert repo.commit("zz").id == renamed[commits[3].id]
    assert [c.id for c in repo.log("main")] == [c.id for c in made.repo.log("main")]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda found: found[::-1], "precedes one of its parents"),
        (lambda found: [*found, found[0]], "is duplicated"),
        (lambda found: found[1:], "precedes one of its parents"),
        (lambda found: found[:-1], "is missing, but a branch or tag refers to it"),
        (lambda found: [found[0].model_copy(update={"metarange_id": "no tree"}), *found[1:]], "refers to no tree"),
        (lambda found: [found[0].model_copy(update={"id": ""}), *found[1:]], "at least 1 character"),
    ],
)
def test_what_contradicts_itself(made: Original, change: object, why: str) -> None:
    assert callable(change)
    commits = history(made)
    data = dump_of(change(commits), {"main": commits[3].id}, {})
    with pytest.raises(CorruptData, match=why):
        restored(made, data)


def test_a_tree_that_is_not_there(made: Original) -> None:
    commits = [foreign(made, 1, (), "main").model_copy(update={"metarange_id": "ab" * 32})]
    with pytest.raises(InvalidInput, match="needs _graveler/abab"):
        restored(made, dump_of(commits, {"main": commits[0].id}, {}))
