"""Behaviour of the file system beyond fsspec's own tests."""

from __future__ import annotations

import os
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from io import BytesIO
from multiprocessing import get_context
from pathlib import Path

import fsspec
import pytest

from graveler.fs import GravelerFileSystem
from graveler.fs.handles import close_all, handle
from graveler.fs.paths import FsPath
from graveler_core.errors import Conflict, CorruptData, DirtyBranch
from graveler_core.facade.repository import Repository
from graveler_core.facade.snapshot import Snapshot
from graveler_core.local import file_output
from graveler_core.model.entry import Entry
from tests.graveler.fs.conftest import Place
from tests.old_paths import any_path


def heads(repo: Repository) -> list[str]:
    return [commit.message for commit in repo.log("main")]


def test_it_is_found_by_its_protocol(local: Place, repo: Repository) -> None:
    with fsspec.open(f"graveler://{repo.id}/main/t/1", store=local.store) as file:
        assert file.read() == b"t/1"
    fs, path = fsspec.url_to_fs(f"graveler://{repo.id}/v1/t", store=local.store)
    assert isinstance(fs, GravelerFileSystem)
    assert path == f"{repo.id}/v1/t"
    assert fs.unstrip_protocol(path) == f"graveler://{repo.id}/v1/t"


def test_the_store_comes_from_the_environment(local: Place, repo: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAVELER_STORE", local.store)
    fs = GravelerFileSystem(skip_instance_cache=True)
    assert fs.cat(f"{repo.id}/main/a") == b"a"


def test_directories_at_each_level(fs: GravelerFileSystem, repo: Repository) -> None:
    assert {"name": repo.id, "size": 0, "type": "directory"} in fs.ls("")
    assert fs.ls(repo.id, detail=False) == [f"{repo.id}/main", f"{repo.id}/v1"]
    at = f"{repo.id}/main"
    assert fs.ls(at, detail=False) == [f"{at}/a", f"{at}/t"]
    assert fs.ls(f"{at}/t/", detail=False) == [f"{at}/t/1", f"{at}/t/2", f"{at}/t/u"]
    assert fs.ls(f"{at}/a", detail=False) == [f"{at}/a"]
    assert fs.find(at) == [f"{at}/a", f"{at}/t/1", f"{at}/t/2", f"{at}/t/u/3"]
    assert fs.find(f"{at}/a") == [f"{at}/a"]
    assert fs.find(f"{at}/none") == []
    assert fs.glob(f"{at}/t/*") == [f"{at}/t/1", f"{at}/t/2", f"{at}/t/u"]
    assert [(root, sorted(files)) for root, _, files in fs.walk(f"{at}/t")] == [
        (f"{at}/t", ["1", "2"]),
        (f"{at}/t/u", ["3"]),
    ]
    for directory in ("", repo.id, at, f"{at}/t"):
        assert fs.isdir(directory)
        assert not fs.isfile(directory)


@pytest.mark.parametrize("path", ["none", "{repo}/none", "{repo}/main/none", "{repo}/main/t/none", "{repo}/main/a/b"])
def test_what_does_not_exist(fs: GravelerFileSystem, repo: Repository, path: str) -> None:
    path = path.format(repo=repo.id)
    assert not fs.exists(path)
    for call in (fs.info, fs.ls, fs.cat_file, lambda p: fs.open(p, "rb")):
        with pytest.raises(FileNotFoundError):
            call(path)


def test_a_prefix_that_is_no_directory_does_not_exist(fs: GravelerFileSystem, repo: Repository) -> None:
    repo.branch("main").put("table/1", b"x")
    assert not fs.exists(f"{repo.id}/main/tab")


def test_attributes_of_a_file(fs: GravelerFileSystem, repo: Repository) -> None:
    main = repo.branch("main")
    main.put("b", b"content", content_type="text/csv", metadata={"k": "v"})
    main.stage("c", Entry(address="data/elsewhere", size=5))
    info = fs.info(f"{repo.id}/main/b")
    assert (info["size"], info["type"], info["content_type"], info["metadata"]) == (7, "file", "text/csv", {"k": "v"})
    assert info["checksum"].startswith("sha256:")
    assert fs.modified(f"{repo.id}/main/b") == main.get("b").mtime
    assert fs.modified(f"{repo.id}/main/c") == datetime(1970, 1, 1, tzinfo=UTC)
    assert fs.ukey(f"{repo.id}/main/b") == main.get("b").identity.hex()


def test_ranges(fs: GravelerFileSystem, repo: Repository) -> None:
    data = bytes(range(200))
    repo.branch("main").put("data", data)
    path = f"{repo.id}/main/data"
    assert fs.cat_file(path, 10, 20) == data[10:20]
    assert fs.cat_file(path, -5) == data[-5:]
    assert fs.cat_file(path, 20, -20) == data[20:-20]
    assert fs.tail(path, 7) == data[-7:]
    assert fs.head(path, 7) == data[:7]
    assert fs.read_block(path, 50, 10) == data[50:60]
    assert fs.cat_ranges([path, path, path], [0, 5, 190], [1, 7, 300]) == [data[:1], data[5:7], data[190:]]
    found = fs.cat_ranges([path, f"{repo.id}/main/none"], 0, 2)
    assert found[0] == data[:2]
    assert isinstance(found[1], FileNotFoundError)
    with pytest.raises(FileNotFoundError):
        fs.cat_ranges([f"{repo.id}/main/none"], 0, 2, on_error="raise")


def test_an_open_file_stays_as_it_was(fs: GravelerFileSystem, repo: Repository) -> None:
    with fs.open(f"{repo.id}/main/a", "rb") as file:
        repo.branch("main").put("a", b"another")
        assert file.read() == b"a"


def test_whole_content_is_compared_with_its_checksum(
    local: Place, fs: GravelerFileSystem, repo: Repository, tmp_path: Path
) -> None:
    uri = repo.branch("main").uri("t/1")
    with open(uri.removeprefix("file://"), "wb") as file:
        file.write(b"t/X")
    path, local_file = f"{repo.id}/main/t/1", tmp_path / "below" / "1"
    with pytest.raises(CorruptData, match="differs from the checksum"):
        fs.cat_file(path)
    with pytest.raises(CorruptData, match="differs from the checksum"):
        fs.get(path, str(local_file))
    assert list(local_file.parent.iterdir()) == []
    local_file.write_bytes(b"mine")
    with pytest.raises(CorruptData, match="differs from the checksum"):
        fs.get_file(path, str(local_file))
    assert local_file.read_bytes() == b"mine"
    assert list(local_file.parent.iterdir()) == [local_file]
    with pytest.raises(CorruptData, match="differs from the checksum"):
        fs.get_file(path, BytesIO())
    unverified = local.fs(verify=False)
    assert unverified.cat_file(path) == b"t/X"
    unverified.get(path, str(local_file))
    assert local_file.read_bytes() == b"t/X"
    assert pickle.loads(pickle.dumps(unverified)).cat_file(path) == b"t/X"


def test_a_pipe_receives_a_download_and_stays(fs: GravelerFileSystem, repo: Repository, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as reader:
        received = reader.submit(pipe.read_bytes)
        fs.get_file(f"{repo.id}/main/t/2", str(pipe))
        assert received.result(30) == b"t/2"
        Path(repo.branch("main").uri("t/2").removeprefix("file://")).write_bytes(b"t/X")
        received = reader.submit(pipe.read_bytes)
        with pytest.raises(CorruptData, match="differs from the checksum"):
            fs.get_file(f"{repo.id}/main/t/2", str(pipe))
        assert received.result(30) in {b"", b"t/X"}
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]


def test_writes_are_staged(fs: GravelerFileSystem, repo: Repository) -> None:
    fs.pipe(f"{repo.id}/main/new", b"x")
    assert [change.path for change in repo.branch("main").uncommitted()] == ["new"]
    assert fs.cat(f"{repo.id}/main/new") == b"x"
    assert not fs.exists(f"{repo.id}/main@/new")


def test_text_and_appending(fs: GravelerFileSystem, repo: Repository) -> None:
    path = f"{repo.id}/main/text"
    with fs.open(path, "w", encoding="utf-8") as file:
        file.write("grün\n")
    with fs.open(path, "a", encoding="utf-8") as file:
        file.write("blau\n")
    with fs.open(path, "r", encoding="utf-8") as file:
        assert file.read() == "grün\nblau\n"
    with pytest.raises(FileExistsError, match="exists"):
        fs.open(path, "xb")
    with pytest.raises(ValueError, match="mode 'r\\+b': must be"):
        fs.open(path, "r+b")


def test_a_file_whose_writer_fails_is_not_staged(fs: GravelerFileSystem, repo: Repository) -> None:
    path = f"{repo.id}/main/broken"
    file = fs.open(path, "wb")

    def fail() -> None:
        with file:
            file.write(b"half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert file.closed
    assert not fs.exists(path)
    with pytest.raises(ValueError, match="closed"):
        file.write(b"more")


def test_large_files_are_written_through_a_temporary_file(fs: GravelerFileSystem, repo: Repository) -> None:
    block = bytes(range(256)) * 4096
    with fs.open(f"{repo.id}/main/large", "wb") as file:
        for _ in range(20):
            assert file.write(block) == len(block)
        assert file.tell() == 20 * len(block)
        assert file._spool._rolled
    assert fs.cat_file(f"{repo.id}/main/large") == block * 20


def test_copies_within_a_repository_refer_to_the_same_object(fs: GravelerFileSystem, repo: Repository) -> None:
    main = repo.branch("main")
    fs.cp(f"{repo.id}/v1/t", f"{repo.id}/main/copy", recursive=True)
    assert [item.path for item in main.list("copy/")] == ["copy/1", "copy/2", "copy/u/3"]
    assert main.uri("copy/u/3") == main.uri("t/u/3")
    fs.mv(f"{repo.id}/main/a", f"{repo.id}/main/moved")
    assert (fs.exists(f"{repo.id}/main/a"), fs.cat(f"{repo.id}/main/moved")) == (False, b"a")


def test_copies_between_repositories_copy_the_content(local: Place, fs: GravelerFileSystem, repo: Repository) -> None:
    other = local.repository()
    repo.branch("main").put("b", b"b", content_type="text/csv", metadata={"owner": "ann"})
    for name in ("a", "b"):
        fs.cp(f"{repo.id}/main/{name}", f"{other.id}/main/{name}")
    assert other.branch("main").read("a") == b"a"
    assert other.branch("main").uri("a") != repo.branch("main").uri("a")
    copied = other.branch("main").get("b")
    assert (copied.content_type, copied.metadata) == ("text/csv", {"owner": "ann"})


def test_the_files_of_a_directory_are_copied_to_the_top_of_a_branch(fs: GravelerFileSystem, repo: Repository) -> None:
    repo.create_branch("other", "main")
    fs.cp(f"{repo.id}/main/t/", f"{repo.id}/other/", recursive=True)
    assert {"1", "2", "u/3"} <= {item.path for item in repo.branch("other").list()}


def test_the_information_about_an_open_file_is_that_of_its_content(fs: GravelerFileSystem, repo: Repository) -> None:
    path = f"{repo.id}/main/a"
    before = fs.info(path)
    with fs.open(path, "rb") as file:
        fs.pipe(path, b"longer")
        assert (file.info(), file.read()) == (before, b"a")


def test_a_directory_is_removed_by_one_step(fs: GravelerFileSystem, repo: Repository) -> None:
    main = repo.branch("main")
    main.put("t2", b"stays")
    fs.rm(f"{repo.id}/main/t", recursive=True)
    assert [item.path for item in main.list()] == ["a", "t2"]
    fs.rm(f"{repo.id}/main/a")
    assert [item.path for item in main.list()] == ["t2"]
    for recursive in (False, True):
        with pytest.raises(FileNotFoundError):
            fs.rm(f"{repo.id}/main/none", recursive=recursive)


@pytest.mark.parametrize("recursive", [False, True])
def test_a_list_is_removed_only_if_all_of_it_exists(fs: GravelerFileSystem, repo: Repository, recursive: bool) -> None:
    main, at = repo.branch("main"), f"{repo.id}/main"
    before = [item.path for item in main.list()]
    for absent in (f"{at}/none", f"{repo.id}/v1/a"):
        with pytest.raises((FileNotFoundError, PermissionError)):
            fs.rm([f"{at}/a", f"{at}/t", absent] if recursive else [f"{at}/a", absent], recursive=recursive)
        assert [item.path for item in main.list()] == before
    fs.rm([f"{at}/{path}" for path in (before if not recursive else ("a", "t", "a"))], recursive=recursive)
    assert not list(main.list())


@pytest.mark.parametrize("ref", ["v1", "main~1", "main@"])
def test_only_branches_can_be_written(fs: GravelerFileSystem, repo: Repository, ref: str) -> None:
    at = f"{repo.id}/{ref}"
    for call in (
        lambda: fs.pipe(f"{at}/x", b"x"),
        lambda: fs.open(f"{at}/x", "wb"),
        lambda: fs.rm(f"{at}/a"),
        lambda: fs.rm(f"{at}/t", recursive=True),
        lambda: fs.cp(f"{repo.id}/main/a", f"{at}/x"),
    ):
        with pytest.raises((PermissionError, FileNotFoundError), match=r"is not a branch|does not exist|main~1"):
            call()


def test_repositories_and_refs_are_no_files(fs: GravelerFileSystem, repo: Repository) -> None:
    for path in (repo.id, f"{repo.id}/main"):
        for call in (lambda p: fs.open(p, "wb"), lambda p: fs.pipe(p, b"x"), lambda p: fs.open(p, "rb"), fs.cat_file):
            with pytest.raises(IsADirectoryError, match="must name a file"):
                call(path)


def test_a_protected_branch_refuses_writes(fs: GravelerFileSystem, repo: Repository) -> None:
    repo.protect("main", ["write"])
    with pytest.raises(PermissionError, match="protect"):
        fs.pipe(f"{repo.id}/main/x", b"x")


def test_a_pinned_file_system_reads_one_commit(local: Place, fs: GravelerFileSystem, repo: Repository) -> None:
    pinned = local.fs(pinned=True, skip_instance_cache=True)
    assert pinned.cat(f"{repo.id}/main/a") == b"a"
    fs.pipe(f"{repo.id}/main/a", b"later")
    repo.branch("main").commit("Later")
    assert pinned.cat(f"{repo.id}/main/a") == b"a"
    with pytest.raises(PermissionError, match="this file system is pinned"):
        pinned.pipe(f"{repo.id}/main/a", b"x")


def test_a_transaction_is_one_commit(fs: GravelerFileSystem, repo: Repository) -> None:
    at = f"{repo.id}/main"
    with fs.transaction("Replace", committer="ada", metadata={"k": "v"}) as transaction:
        fs.pipe(f"{at}/new", b"new")
        with fs.open(f"{at}/text", "w") as file:
            file.write("text")
        fs.rm(f"{at}/t/1")
        fs.rm(f"{at}/t/u", recursive=True)
        fs.cp(f"{at}/new", f"{at}/copy")
        fs.mv(f"{at}/a", f"{at}/moved")
        assert fs.exists(f"{at}/a")
        assert not fs.exists(f"{at}/new")
    assert sorted(item.path for item in repo.at("main@").list()) == ["copy", "moved", "new", "t/2", "text"]
    assert heads(repo)[:2] == ["Replace", "Files"]
    commit = repo.commit("main")
    assert (commit.id, commit.committer, commit.metadata["k"]) == (transaction.commit_id, "ada", "v")
    assert list(repo.branch("main").uncommitted()) == []
    fs.pipe(f"{at}/after", b"x")
    assert [change.path for change in repo.branch("main").uncommitted()] == ["after"]


def test_a_failed_transaction_changes_nothing(fs: GravelerFileSystem, repo: Repository) -> None:
    at = f"{repo.id}/main"

    def fail() -> None:
        with fs.transaction:
            fs.pipe(f"{at}/new", b"new")
            fs.rm(f"{at}/a")
            fs.rm(f"{at}/t", recursive=True)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert heads(repo)[0] == "Files"
    assert list(repo.branch("main").uncommitted()) == []
    fs.pipe(f"{at}/later", b"x")  # a later write is no part of a transaction
    assert [change.path for change in repo.branch("main").uncommitted()] == ["later"]


def test_a_transaction_meets_a_concurrent_change(fs: GravelerFileSystem, repo: Repository) -> None:
    at = f"{repo.id}/main"
    transaction = fs.transaction
    transaction.start()
    fs.pipe(f"{at}/other", b"mine")
    fs.pipe(f"{at}/a", b"mine")
    repo.branch("main").put("a", b"theirs")
    repo.branch("main").commit("Theirs")
    with pytest.raises(Conflict):
        transaction.complete()
    assert heads(repo)[0] == "Theirs"
    assert not fs.exists(f"{at}/other")
    fs.pipe(f"{at}/other", b"later")  # the transaction has ended
    assert [change.path for change in repo.branch("main").uncommitted()] == ["other"]


def test_a_transaction_refuses_staged_paths(fs: GravelerFileSystem, repo: Repository) -> None:
    at = f"{repo.id}/main"
    fs.pipe(f"{at}/staged", b"x")
    fs.transaction.start()
    fs.rm(f"{at}/staged")
    with pytest.raises(DirtyBranch):
        fs.transaction.complete()


def test_what_a_transaction_writes_and_removes_leaves_no_trace(fs: GravelerFileSystem, repo: Repository) -> None:
    at = f"{repo.id}/main"
    with fs.transaction as transaction:
        fs.pipe(f"{at}/new", b"x")
        fs.rm(f"{at}/new")
        fs.pipe(f"{at}/a", b"x")
        fs.rm(f"{at}/a")
    assert [change.path for change in repo.diff("main~1", "main")] == ["a"]
    assert transaction.commit_id == repo.commit("main").id


def test_a_transaction_stays_on_one_branch(fs: GravelerFileSystem, repo: Repository) -> None:
    repo.create_branch("dev", "main")
    fs.transaction.start()
    fs.pipe(f"{repo.id}/main/x", b"x")
    with pytest.raises(ValueError, match="a transaction changes one branch"):
        fs.pipe(f"{repo.id}/dev/x", b"x")
    fs.transaction.complete(commit=False)
    assert not fs.exists(f"{repo.id}/main/x")


def test_an_open_file_ends_a_transaction_with_an_error(fs: GravelerFileSystem, repo: Repository) -> None:
    fs.transaction.start()
    fs.pipe(f"{repo.id}/main/x", b"x")
    file = fs.open(f"{repo.id}/main/y", "wb")
    file.write(b"y")
    with pytest.raises(ValueError, match="is still open"):
        fs.transaction.complete()
    assert file.closed
    assert not fs.exists(f"{repo.id}/main/x")


def test_an_empty_transaction_makes_no_commit(fs: GravelerFileSystem, repo: Repository) -> None:
    with fs.transaction as transaction:
        fs.cat(f"{repo.id}/main/a")
    assert transaction.commit_id is None
    assert heads(repo)[0] == "Files"


def test_it_pickles(fs: GravelerFileSystem, repo: Repository) -> None:
    again = pickle.loads(pickle.dumps(fs))
    assert again == fs
    with fs.open(f"{repo.id}/main/a", "rb") as file:
        assert pickle.loads(pickle.dumps(file)).read() == b"a"


def read(fs: GravelerFileSystem, path: str) -> bytes:
    content: bytes = fs.cat_file(path)
    return content


def test_other_processes_read_and_write(fs: GravelerFileSystem, repo: Repository) -> None:
    with get_context("spawn").Pool(1) as pool:
        assert pool.apply(read, (fs, f"{repo.id}/main/a")) == b"a"


def test_threads_share_a_handle(local: Place, repo: Repository) -> None:
    seen = []
    ready = threading.Barrier(8)

    def work(number: int) -> None:
        ready.wait()
        fs = local.fs()
        fs.pipe(f"{repo.id}/main/n/{number}", b"x" * number)
        seen.append(handle(fs._store, fs._storage))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert len({id(each) for each in seen}) == 1
    assert [item.size for item in repo.branch("main").list("n/")] == list(range(8))  # type: ignore[union-attr]


@pytest.mark.parametrize("path", ["a/../b", "a//b", "a\\b", "./a"])
def test_paths_that_no_file_may_have_are_refused_at_once(fs: GravelerFileSystem, repo: Repository, path: str) -> None:
    at = f"{repo.id}/main/{path}"
    for write in (
        lambda: fs.open(at, "wb"),
        lambda: fs.pipe_file(at, b"x"),
        lambda: fs.cp_file(f"{repo.id}/main/a", at),
    ):
        with pytest.raises(ValueError, match="must not contain"):
            write()
    with pytest.raises(ValueError, match="must not contain"), fs.transaction:
        fs.cp_file(f"{repo.id}/main/a", at)
    assert list(repo.branch("main").uncommitted()) == []


@pytest.mark.parametrize("commits", [True, False])
def test_one_of_two_exclusive_writers_wins(fs: GravelerFileSystem, repo: Repository, commits: bool) -> None:
    path = f"{repo.id}/main/new"
    first, second = fs.open(path, "xb"), fs.open(path, "xb")
    second.write(b"second")
    second.close()
    if commits:
        repo.branch("main").commit("New")
    first.write(b"first")
    with pytest.raises(FileExistsError, match="new"):
        first.close()
    assert first.closed
    assert fs.cat_file(path) == b"second"


def test_one_of_many_exclusive_writers_wins(fs: GravelerFileSystem, repo: Repository) -> None:
    def write(number: int) -> int:
        try:
            fs.pipe_file(f"{repo.id}/main/new", b"%d" % number, mode="create")
        except FileExistsError:
            return 0
        return number

    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(write, range(1, 17)))
    assert sum(map(bool, won)) == 1
    assert fs.cat_file(f"{repo.id}/main/new") == b"%d" % max(won)


@pytest.mark.parametrize("path", ["odd/../../escaped", "odd/u/../inside", "odd/./here"])
@pytest.mark.parametrize("source", ["odd/", "od*"])
def test_a_download_stays_in_its_directory(
    fs: GravelerFileSystem, repo: Repository, tmp_path: Path, path: str, source: str
) -> None:
    main = repo.branch("main")
    entry = main.get("a")
    with any_path():
        for each in ("odd/a", path):
            main.stage(each, entry)
    with pytest.raises(ValueError, match="cannot be a local file"):
        fs.get(f"{repo.id}/main/{source}", str(tmp_path / "local" / "down"), recursive=True)
    assert list(tmp_path.rglob("*")) == []
    fs.get(f"{repo.id}/main/{path}", str(tmp_path / "alone"))
    assert (tmp_path / "alone").read_bytes() == b"a"


@pytest.mark.parametrize("source", ["both/", "bo*"])
def test_a_local_file_system_that_does_not_distinguish_capitals(
    fs: GravelerFileSystem, repo: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    """Downloads in which one file would replace another are refused. One directory may stand for two."""
    main, at = repo.branch("main"), f"{repo.id}/main/{source}"
    for path in ("both/A/x", "both/a/X", "both/a/y"):
        main.put(path, path.encode())
    fs.get(at, str(tmp_path / "down"), recursive=True)
    assert len([path for path in (tmp_path / "down").rglob("*") if path.is_file()]) == 3
    monkeypatch.setattr(file_output, "ignores_case", lambda directory: True)
    with pytest.raises(ValueError, match=r"both/a/X.*both/A/x"):
        fs.get(at, str(tmp_path / "other"), recursive=True)
    assert not (tmp_path / "other").exists()
    with pytest.raises(ValueError, match=r"both/a/X.*both/A/x"):
        fs.get([f"{repo.id}/main/both/A/x", f"{repo.id}/main/both/a/X"], str(tmp_path / "other"))
    assert not (tmp_path / "other").exists()
    main.remove("both/a/X")
    fs.get(at, str(tmp_path / "other"), recursive=True)
    assert len([path for path in (tmp_path / "other").rglob("*") if path.is_file()]) == 2


@pytest.mark.parametrize(
    "several", [["x/a.csv", "y/a.csv"], ["x/*", "y/a.csv"], ["x", "y"], ["y/"], Path("y")], ids=str
)
def test_two_paths_are_not_downloaded_to_one_local_file(
    fs: GravelerFileSystem, repo: Repository, tmp_path: Path, several: list[str] | Path
) -> None:
    """fsspec keeps only the last names of the paths of a list."""
    for path in ("x/a.csv", "y/a.csv", "y/b/a.csv"):
        repo.branch("main").put(path, path.encode())
    root = f"{repo.id}/main"
    source = root / several if isinstance(several, Path) else [f"{root}/{each}" for each in several]
    with pytest.raises(ValueError, match=r"/a\.csv.*'a\.csv'.*/a\.csv"):
        fs.get(source, str(tmp_path / "out/"), recursive=True)
    assert [*tmp_path.iterdir()] == []


def test_two_directories_are_downloaded_to_one(fs: GravelerFileSystem, repo: Repository, tmp_path: Path) -> None:
    for path in ("x/d/1", "y/d/2"):
        repo.branch("main").put(path, path.encode())
    fs.get([f"{repo.id}/main/x/d", f"{repo.id}/main/y/d"], str(tmp_path / "out"), recursive=True)
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"d", "1", "2"}
    repo.branch("main").put("z/d", b"a file")
    with pytest.raises(ValueError, match=r"z/d.*'d'.*x/d"):
        fs.get([f"{repo.id}/main/x/d", f"{repo.id}/main/z/d"], str(tmp_path / "other"), recursive=True)
    assert not (tmp_path / "other").exists()


def test_a_relative_url_names_a_store_of_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        fs = GravelerFileSystem(store="sqlite:///meta.db")
        fs.graveler().create_repository(name, (tmp_path / name / "lake").as_uri())
        assert fs.ls("", detail=False) == [name]
    close_all()


def test_ranges_need_lists_of_one_length(fs: GravelerFileSystem, repo: Repository) -> None:
    paths = [f"{repo.id}/main/a", f"{repo.id}/main/t/1"]
    for starts, ends in (([0], [1, 1]), ([0, 0], [1]), ([0, 0, 0], 1)):
        with pytest.raises(ValueError, match="as many as the paths"):
            fs.cat_ranges(paths, starts, ends)
    assert fs.cat_ranges(paths, 0, [1, 2]) == [b"a", b"t/"]


def test_threads_of_a_pinned_file_system_read_one_commit(
    local: Place, repo: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The head changes between the look-ups of two threads."""
    pinned, at, real = local.fs(pinned=True), FsPath(repo.id, "main"), Repository.at
    before = repo.commit("main").id

    def overtaken(self: Repository, ref: str) -> Snapshot:
        found = real(self, ref)
        if ref == "main":
            monkeypatch.setattr(Repository, "at", real)
            assert pinned.snapshot(at).commit_id == before
            repo.branch("main").put("new", b"new")
            repo.branch("main").commit("new")
            return real(self, ref)
        return found

    monkeypatch.setattr(Repository, "at", overtaken)
    assert pinned.snapshot(at).commit_id == before


def test_copies_of_a_pinned_file_system_read_its_commit(local: Place, fs: GravelerFileSystem, repo: Repository) -> None:
    path, pinned = f"{repo.id}/main/a", local.fs(pinned=True)
    assert pinned.cat(path) == b"a"
    fs.pipe(path, b"later")
    repo.branch("main").commit("Later")
    GravelerFileSystem.clear_instance_cache()  # a process that reads a copy has no instances
    for copy in (pickle.loads(pickle.dumps(pinned)), GravelerFileSystem.from_json(pinned.to_json())):
        assert copy.cat(path) == b"a"
        assert pickle.loads(pickle.dumps(copy)).cat(path) == b"a"


@pytest.mark.parametrize("way", ["option", "position", "configuration"])
def test_each_pinned_file_system_begins_anew(
    local: Place, fs: GravelerFileSystem, repo: Repository, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    def pinned() -> GravelerFileSystem:
        if way == "position":
            return GravelerFileSystem(local.store, local.storage, True)
        with monkeypatch.context() as patch:
            if way == "configuration":
                patch.setitem(fsspec.config.conf, "graveler", {"pinned": True})
            return local.fs(**({"pinned": True} if way == "option" else {}))

    path, before = f"{repo.id}/main/a", pinned()
    assert before.cat(path) == b"a"
    fs.pipe(path, b"later")
    repo.branch("main").commit("Later")
    assert (before.cat(path), pinned().cat(path)) == (b"a", b"later")
