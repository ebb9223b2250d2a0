"""A dump is whole while others write, refuses what is damaged, and costs what it should."""

from __future__ import annotations

import resource
import tempfile
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from graveler_core.blobs.local import LocalBlobs
from graveler_core.blobs.port import BlobInfo, Data
from graveler_core.codec.records import commit_id, encode
from graveler_core.errors import Conflict, CorruptData, InvalidInput, Kind, NotFound, NotUnique, Unavailable
from graveler_core.facade.repository import Repository
from graveler_core.model.entities import Commit, Layout, RepositoryRecord
from graveler_core.model.ids import CommitId, Nonce, ObjectId
from graveler_core.model.index import Index, Run, RunLocation
from graveler_core.model.migration import MigratedCommit
from graveler_core.objects.commits import prepare
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.location import Folder
from graveler_core.refs import repositories
from graveler_core.testing.counting_store import Counting
from graveler_core.transfer.commit_rows import CommitRows
from graveler_core.transfer.files import dump_file
from tests.examples import places
from tests.golden.history import NAME
from tests.unit.engine.interposed import Interposed
from tests.unit.engine.world import START, World, entry
from tests.unit.transfer.moves import Original, bare, content, elsewhere, fresh_uri


@pytest.fixture
def world(made: Original) -> World:
    """A copy of the original."""
    return elsewhere(made, made.world.fork().kv)


def repo_of(world: World, kv: Interposed | None = None) -> Repository:
    return world.graveler(kv).repository(NAME)


def record(world: World) -> RepositoryRecord:
    return repositories.get(world.kv, world.clock, world.ids, repo_of(world).id)


def restored(made: Original, uri: str) -> Repository:
    world = elsewhere(made)
    repo = bare(world)
    repo.restore_refs(uri)
    return repo


def nothing_at(world: World, uri: str) -> bool:
    with pytest.raises(NotFound):
        content(world, uri)
    return True


class TestWhileOthersWrite:
    def test_commits_at_any_moment(self, made: Original) -> None:
        """Whatever is committed meanwhile: the dump can be restored, and has what was there before it began."""
        heads = {branch.id: branch.commit_id for branch in made.repo.branches()}
        calls = 0
        for number in places(60):
            world = elsewhere(made, made.world.fork().kv)
            kv = Interposed(world.kv)

            def others(world: World = world) -> None:
                main = repo_of(world).branch("main")
                for step in range(6):
                    main.stage(f"new/{step}", entry(step))
                    main.commit(f"new {step}")
                world.graveler().repository(NAME).create_tag("late", "main")

            kv.before[number] = others
            uri = fresh_uri()
            repo_of(world, kv).dump_refs(uri)
            if kv.before:
                calls = number
                break
            back = restored(made, uri)
            assert not [finding for finding in back.fsck() if finding.damage]
            for name, head in heads.items():
                assert head in [commit.id for commit in back.log(f"{name}@")]
            for tag in back.tags():
                assert back.commit(tag.id).id == tag.commit_id
        assert calls > 10

    def test_a_migration_meanwhile(self, made: Original) -> None:
        """It writes the record of a commit last. A dump that has the record has the whole commit."""
        calls, found = 0, set[bool]()
        for number in places(60):
            world = elsewhere(made, made.world.fork().kv)
            header, layout = unfinished(world)[1]
            world.kv.set(*header)
            kv = Interposed(world.kv)
            kv.before[number] = partial(complete, world, commit_id(header[2]), layout)
            uri = repo_of(world, kv).dump_refs(fresh_uri()).uri
            if kv.before:
                calls = number
                break
            there = elsewhere(made)
            repo = bare(there)
            repo.restore_refs(uri)
            ids = {item.origin: item.commit_id for item in there.graveler().migrated_ids(NAME)}
            found.add("late" in ids)
            for id in ids.values():
                list(repo.at(id).list())
        assert calls > 10
        assert found == {True, False}

    def test_layouts_replaced_meanwhile(self, made: Original) -> None:
        """Between reading layouts and what they name: the former runs are there for the grace."""
        for number in places(60, 2):
            world = elsewhere(made, made.world.fork().kv)
            kv = Interposed(world.kv)
            kv.before[number] = partial(fold_everything, world)
            uri = fresh_uri()
            repo_of(world, kv).dump_refs(uri)
            if kv.before:
                break
            back = restored(made, uri)
            assert not [finding for finding in back.fsck(deep=number % 3 == 0) if finding.damage]
        assert number > 10

    def test_runs_swept_meanwhile(self, world: World) -> None:
        """By somebody who was told that he is alone."""
        kv = Interposed(world.kv)
        repo_of(world, kv).dump_refs(fresh_uri())
        reading_runs = len(kv.verbs) - 1 - kv.verbs[::-1].index("get_many")
        kv.reset()

        def sweep() -> None:
            repo = record(world)
            fold_everything(world, keep=False)
            log = [held.value for _, held in access.scan(world.kv, keys.internal_history(repo).layouts)]
            kept = {keys.stored_object(repo, run.id) for layout in log for run in layout.index.runs}
            for partition in keys.object_partitions(repo):
                for row in world.kv.scan(partition):
                    if (partition, row.key) not in kept:
                        world.kv.delete(partition, row.key)

        kv.before[reading_runs] = sweep
        with pytest.raises(Conflict, match="dump again") as caught:
            repo_of(world, kv).dump_refs(fresh_uri())
        assert caught.value.kind is Kind.LostRace

    def test_the_repository_is_deleted(self, made: Original) -> None:
        """And emptied: what is missing then is no damage."""
        for number in places(60):
            world = elsewhere(made, made.world.fork().kv)
            kv = Interposed(world.kv)

            def others(world: World = world) -> None:
                repo = record(world)
                world.graveler().delete_repository(NAME)
                world.kv.drop_partition(keys.partition(repo))  # type: ignore[attr-defined]
                for partition in keys.object_partitions(repo):
                    world.kv.drop_partition(partition)  # type: ignore[attr-defined]

            kv.before[number] = others
            uri = fresh_uri()
            with suppress(NotFound):
                repo_of(world, kv).dump_refs(uri)
                assert kv.before
                break
            assert nothing_at(world, uri)
        assert number > 10


def complete(world: World, id: CommitId, layout: tuple[bytes, bytes, bytes]) -> None:
    """Write the rest of a migrated commit: its layout, then the record of its id in the source."""
    world.kv.set(*layout)
    access.write(world.kv, keys.migrated_commits(record(world)).at("late"), MigratedCommit(commit_id=id))


def fold_everything(world: World, *, keep: bool = True) -> None:
    """Replace every layout by that of one tree."""
    repo = repo_of(world)
    for where, held in layouts(world):
        tree = repo.at(where).tree_id()
        former = held.superseded if keep else ()
        location = keys.commit_layout(record(world), repo.commit(where).id)
        access.write(world.kv, location, Layout(index=Index(metarange_id=tree), superseded=former))


def layouts(world: World) -> list[tuple[str, Layout]]:
    found = access.scan(world.kv, keys.commit_layouts(record(world)))
    return [(name, held.value) for name, held in found]


def unfinished(world: World) -> tuple[Commit, list[tuple[bytes, bytes, bytes]]]:
    """A commit that no branch reaches, and its writes: the header, then the layout."""
    head = repo_of(world).commit("main")
    header = Commit(
        committer="x",
        message="never finished",
        creation_date=START,
        parents=(head.id,),
        generation=head.generation + 1,
        nonce=Nonce("n"),
        operations="0" * 64,
    )
    layout = next(
        layout for _, layout in layouts(world) if any(r.place is RunLocation.OBJECT for r in layout.index.runs)
    )
    return header, prepare(record(world), header, layout)[1]


class TestUnfinished:
    """What a writer left that died between two writes, on a store that does not write many keys in one step."""

    def test_it_is_dumped_as_it_stands(self, made: Original, world: World) -> None:
        _, (header, _) = unfinished(world)
        world.kv.set(*header)
        uri = repo_of(world).dump_refs(fresh_uri()).uri
        back = restored(made, uri)
        assert not [finding for finding in back.fsck(deep=True) if finding.damage]
        assert content(world, back.dump_refs(fresh_uri()).uri) == content(world, uri)

    @pytest.mark.parametrize("reached", [False, True])
    def test_a_commit_that_is_removed_after_it_was_found(
        self, world: World, monkeypatch: pytest.MonkeyPatch, reached: bool
    ) -> None:
        commit, (header, _) = unfinished(world)
        world.kv.set(*header)
        gone = keys.commit(record(world), commit.parents[0]).key if reached else header[1]
        real = CommitRows.headers

        def headers(rows: CommitRows) -> None:
            world.kv.delete(header[0], gone)
            real(rows)

        monkeypatch.setattr(CommitRows, "headers", headers)
        with pytest.raises((CorruptData, Conflict), match=r"was deleted during|dump again") as caught:
            repo_of(world).dump_refs(fresh_uri())
        assert caught.value.kind is (Kind.CorruptCommit if reached else Kind.LostRace)

    def test_a_layout_whose_runs_are_missing(self, made: Original, world: World) -> None:
        _, (header, (partition, key, _)) = unfinished(world)
        run = "ab" * 32
        layout = Layout(index=Index(metarange_id=layouts(world)[0][1].index.metarange_id, runs=(some_run(run),)))
        world.kv.set(*header)
        world.kv.set(partition, key, encode(layout))
        back = restored(made, repo_of(world).dump_refs(fresh_uri()).uri)
        assert not [finding for finding in back.fsck(deep=True) if finding.damage]

    def test_a_layout_alone_is_left_out(self, made: Original, world: World) -> None:
        _, (_, layout) = unfinished(world)
        world.kv.set(*layout)
        assert content(world, repo_of(world).dump_refs(fresh_uri()).uri) == made.data

    def test_the_record_of_a_lost_migrated_commit_is_left_out(self, made: Original, world: World) -> None:
        where = keys.migrated_commits(record(world)).at("lost")
        access.write(world.kv, where, MigratedCommit(commit_id=CommitId("ab" * 32)))
        assert content(world, repo_of(world).dump_refs(fresh_uri()).uri) == made.data


def some_run(id: str) -> Run:
    return Run(id=ObjectId(id), place=RunLocation.OBJECT, elements=1, size=1)


class TestDamage:
    def refuses(self, world: World, *words: str) -> None:
        uri = fresh_uri()
        with pytest.raises(CorruptData) as caught:
            repo_of(world).dump_refs(uri)
        for word in words:
            assert word in caught.value.message
        assert nothing_at(world, uri)

    def rows(self, world: World, folder: Folder[Any]) -> list[bytes]:
        return [row.key for row in world.kv.scan(folder.partition, prefix=folder.prefix)]

    def test_what_a_branch_needs_is_missing(self, made: Original) -> None:
        folders: list[Any] = [keys.commits, keys.commit_layouts]
        for folder_of in folders:
            for number in range(made.dumped.commits):
                world = elsewhere(made, made.world.fork().kv)
                folder = folder_of(record(world))
                world.kv.delete(folder.partition, self.rows(world, folder)[number])
                self.refuses(world, "commit ")

    def test_a_run_is_missing_or_damaged(self, made: Original) -> None:
        log = access.scan(made.world.kv, keys.internal_history(record(made.world)).layouts)
        found = [*(layout for _, layout in layouts(made.world)), *(held.value for _, held in log)]
        named = {run.id for layout in found for run in layout.index.runs if run.place is RunLocation.OBJECT}
        assert len(named) == made.dumped.objects > 3
        for run in named:
            for damage in (None, b"\1" + b"\0" * 20, b""):
                world = elsewhere(made, made.world.fork().kv)
                where = keys.stored_object(record(world), run)
                if damage is None:
                    world.kv.delete(*where)
                else:
                    world.kv.set(*where, damage)
                self.refuses(world, run)

    def test_a_record_is_damaged(self, made: Original) -> None:
        folders: list[Any] = [keys.branches, keys.tags, keys.commits, keys.commit_layouts]
        for folder_of in folders:
            world = elsewhere(made, made.world.fork().kv)
            folder = folder_of(record(world))
            key = self.rows(world, folder)[0]
            stored = world.kv.get(folder.partition, key)
            assert stored is not None
            world.kv.set(folder.partition, key, stored.value[:-1])
            self.refuses(world)

    def test_a_branch_that_names_no_commit(self, world: World) -> None:
        for commit in ("0" * 64, "nothing", ""):
            where = keys.branch(record(world), repo_of(world).branch("side").name)
            held = access.read(world.kv, where)
            assert held is not None
            access.write(world.kv, where, held.value.model_copy(update={"commit_id": commit}))
            self.refuses(world, commit)

    def test_a_migrated_commit_that_is_no_commit(self, world: World) -> None:
        where = keys.migrated_commits(record(world)).at("c1")
        access.write(world.kv, where, MigratedCommit(commit_id=CommitId("nothing")))
        self.refuses(world, "migrated commit 'c1'", "'nothing' is not a commit id")


class TestWhere:
    def test_nothing_is_overwritten(self, made: Original, world: World) -> None:
        with pytest.raises(NotUnique) as caught:
            repo_of(world).dump_refs(made.dumped.uri)
        assert caught.value.kind is Kind.BlobExists
        assert content(world, made.dumped.uri) == made.data

    @pytest.mark.parametrize(
        "uri", ["", "x.dump", "/tmp/x", "file:///x", "memory://bucket", "s3://b/../x", "ftp://a/b"]
    )
    def test_a_place_that_is_none(self, world: World, uri: str) -> None:
        with pytest.raises(InvalidInput):
            repo_of(world).dump_refs(uri)

    def test_files(self, made: Original, world: World, tmp_path: object) -> None:
        uri = f"file://{tmp_path}/deep/in/a%20file.dump"
        dumped = repo_of(world).dump_refs(uri)
        assert dumped.uri == uri
        assert content(world, uri) == made.data
        assert restored(made, uri).id == NAME

    def test_no_room_for_the_temporary_file(self, world: World) -> None:
        """The error says where there is none, which need not be where the dump goes."""
        uri = fresh_uri()
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
        try:
            with pytest.raises(
                Unavailable, match=f"temporary file in {tempfile.gettempdir()}: file too large"
            ) as caught:
                repo_of(world).dump_refs(uri)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert caught.value.kind is Kind.StoreFull
        with pytest.raises(NotFound):
            dump_file(world.blobs, uri).size()

    def test_no_directory_for_the_temporary_file(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
        with pytest.raises(Unavailable, match=r"temporary file in /nowhere: .* does not exist"):
            repo_of(world).dump_refs(fresh_uri())


def test_what_is_told(made: Original, world: World) -> None:
    told = list[tuple[int, int]]()
    dumped = repo_of(world).dump_refs(fresh_uri(), progress=lambda done, total: told.append((done, total)))
    commits = dumped.commits
    assert [done for done, _ in told] == list(range(1, 3 * commits + 1))
    assert [total for _, total in told] == [0] * commits + [3 * commits] * 2 * commits
    told.clear()
    target = elsewhere(made)
    bare(target).restore_refs(dumped.uri, progress=lambda done, total: told.append((done, total)))
    assert told == sorted(told)
    assert told[-1] == (2 * dumped.size, 2 * dumped.size)


def test_a_dump_that_is_stored_is_reported(
    made: Original, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Although the store does not answer afterwards: the size is known without it."""
    create, head = LocalBlobs.create, LocalBlobs.head

    def gone(self: LocalBlobs, address: str) -> BlobInfo | None:
        raise Unavailable("the store does not answer")

    def last(self: LocalBlobs, address: str, data: Data) -> bool:
        stored = create(self, address, data)
        monkeypatch.setattr(LocalBlobs, "head", gone)
        return stored

    monkeypatch.setattr(LocalBlobs, "create", last)
    dumped = repo_of(world).dump_refs(f"file://{tmp_path}/x.dump")
    monkeypatch.setattr(LocalBlobs, "head", head)
    assert dumped.size == (tmp_path / "x.dump").stat().st_size == len(made.data)


def test_what_it_costs(made: Original) -> None:
    """A few calls, one a branch, and one for 64 runs."""
    kv = Counting(made.world.kv)
    made.world.graveler(kv).repository(NAME).dump_refs(fresh_uri())
    branches = made.dumped.branches
    assert kv.counts["scan"] <= 11 + branches
    assert kv.counts["get_many"] <= 1 + made.dumped.objects // 64
    assert kv.counts["get"] <= 9
    assert not {"set", "set_if", "set_many", "delete"} & kv.counts.keys()
