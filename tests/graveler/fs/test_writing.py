"""Writes, moves and removals that end in an error, or that name the same file twice."""

from __future__ import annotations

import errno
import gc
import io
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

import fsspec
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from graveler.fs import GravelerFileSystem
from graveler.fs.files import WriteFile
from graveler.fs.paths import FsPath
from graveler_core.errors import Unavailable
from graveler_core.facade.branch import Branch
from graveler_core.facade.repository import Repository
from graveler_core.facade.snapshot import Snapshot


class Failing:
    """A cell that cannot be written."""

    def __str__(self) -> str:
        raise RuntimeError("the body fails")


def in_text(fs: GravelerFileSystem, path: str) -> None:
    with fs.open(path, "w") as file:
        file.write("half")
        raise RuntimeError("the body fails")


def compressed(fs: GravelerFileSystem, path: str) -> None:
    with fs.open(path, "wt", compression="gzip") as file:
        file.write("half")
        raise RuntimeError("the body fails")


def by_open(fs: GravelerFileSystem, path: str) -> None:
    with fsspec.open(f"graveler://{path}", "wb", **fs.storage_options) as file:
        file.write(b"half")
        raise RuntimeError("the body fails")


def by_open_in_text(fs: GravelerFileSystem, path: str) -> None:
    with fsspec.open(f"graveler://{path}", "w", compression="gzip", **fs.storage_options) as file:
        file.write("half")
        raise RuntimeError("the body fails")


def by_pandas(fs: GravelerFileSystem, path: str) -> None:
    rows = pd.DataFrame({"a": ["1", "2", Failing()]})
    rows.to_csv(f"graveler://{path}", chunksize=1, storage_options=fs.storage_options)


def by_pyarrow(fs: GravelerFileSystem, path: str) -> None:
    with pq.ParquetWriter(path, pa.schema({"a": pa.int64()}), filesystem=fs) as writer:
        writer.write_table(pa.table({"a": [1]}))
        raise RuntimeError("the body fails")


@pytest.mark.parametrize("write", [in_text, compressed, by_open, by_open_in_text, by_pandas, by_pyarrow])
def test_nothing_is_staged_if_the_body_of_a_with_statement_fails(
    fs: GravelerFileSystem, repo: Repository, write: Callable[[GravelerFileSystem, str], None]
) -> None:
    with pytest.raises(RuntimeError, match="the body fails"):
        write(fs, f"{repo.id}/main/a")
    gc.collect()
    assert list(repo.branch("main").uncommitted()) == []
    assert fs.cat(f"{repo.id}/main/a") == b"a"


class FullSink:
    """The temporary file of a file being written, on a disk that becomes full: it keeps half of each write."""

    def __init__(self, sink: BinaryIO) -> None:
        self._sink = sink

    def write(self, data: memoryview) -> int:
        self._sink.write(data[: len(data) // 2])
        raise OSError(errno.ENOSPC, "No space left on device")

    def close(self) -> None:
        """Do nothing."""


def filled(fs: GravelerFileSystem, path: str, **options: Any) -> WriteFile:
    """Open a file for writing on a disk that becomes full."""
    file: WriteFile = fs.open(path, "wb", **options)
    file._sink = FullSink(file._sink)
    return file


@pytest.mark.parametrize("codec", [None, "gzip"])
@pytest.mark.parametrize("inside", [False, True])
def test_a_file_that_could_not_be_written_completely_is_not_staged(
    fs: GravelerFileSystem, repo: Repository, codec: str | None, inside: bool
) -> None:
    path = f"{repo.id}/main/a"
    with fs.transaction if inside else nullcontext():
        file = filled(fs, path, compression=codec)
        for _ in range(2):
            with pytest.raises(OSError, match="No space left"):
                file.write(b"content")
        with pytest.raises(OSError, match=f"graveler://{path}: a write failed, so nothing was staged"):
            file.close()
        assert file.closed
        file.close()
    assert list(repo.branch("main").uncommitted()) == []
    assert fs.cat(path) == b"a"


@pytest.mark.parametrize("wrapped", [io.BufferedWriter, io.TextIOWrapper])
def test_a_file_whose_buffer_could_not_be_written_is_not_staged(
    fs: GravelerFileSystem, repo: Repository, wrapped: Callable[[WriteFile], io.BufferedWriter | io.TextIOWrapper]
) -> None:
    """The wrapper closes the file after its own failure."""
    path = f"{repo.id}/main/a"
    outer: Any = wrapped(filled(fs, path))
    outer.write("content" if wrapped is io.TextIOWrapper else b"content")
    with pytest.raises(OSError, match="a write failed"):
        outer.close()
    assert list(repo.branch("main").uncommitted()) == []
    assert fs.cat(path) == b"a"


def test_a_file_that_could_not_be_written_completely_is_not_committed(fs: GravelerFileSystem, repo: Repository) -> None:
    file = filled(fs, f"{repo.id}/main/a", autocommit=False)
    with pytest.raises(OSError, match="No space left"):
        file.write(b"content")
    for call in (file.close, file.commit, file.commit):
        with pytest.raises(OSError, match="a write failed"):
            call()
    file.discard()
    assert list(repo.branch("main").uncommitted()) == []


def test_a_file_is_discarded_although_its_temporary_file_cannot_be_closed(
    fs: GravelerFileSystem, repo: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Closing a temporary file writes its buffer, which fails again on a full disk."""
    file = filled(fs, f"{repo.id}/main/a")
    with pytest.raises(OSError, match="No space left"):
        file.write(b"content")
    real = file._spool.close

    def close() -> None:
        real()
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(file._spool, "close", close)
        with pytest.raises(OSError, match="a write failed"):
            file.close()
    assert file.closed


def test_files_are_staged_while_an_earlier_error_is_handled(fs: GravelerFileSystem, repo: Repository) -> None:
    at = f"{repo.id}/main"
    before = fs.open(f"{at}/before", "wb")
    try:
        raise RuntimeError
    except RuntimeError:
        before.write(b"log")
        before.close()
        with fs.open(f"{at}/text", "w") as file:
            file.write("log")
        with fsspec.open(f"graveler://{at}/opened", "w", **fs.storage_options) as file:
            file.write("log")
        pd.DataFrame({"a": [1]}).to_csv(f"graveler://{at}/table", storage_options=fs.storage_options)
    assert [change.path for change in repo.branch("main").uncommitted()] == ["before", "opened", "table", "text"]


@pytest.mark.parametrize("codec", ["gzip", "bz2", "xz", "zip", "zstd", "infer"])
def test_compressed_files_are_staged(fs: GravelerFileSystem, repo: Repository, codec: str) -> None:
    path = f"{repo.id}/main/text.gz"
    with fs.open(path, "w", compression=codec, encoding="utf-8") as file:
        file.write("grün\n")
    gc.collect()
    with fs.open(path, "r", compression=codec, encoding="utf-8") as file:
        assert file.read() == "grün\n"
    with fs.transaction, fs.open(f"{repo.id}/main/more", "wb", compression=codec) as file:
        file.write(b"x" * 10)
        assert file.tell() == 10
    assert repo.at("main@").get("more").size != 10 or codec == "infer"
    with pytest.raises(ValueError, match="not supported"):
        fs.open(path, "wb", compression="none such")


@pytest.mark.parametrize("how", ["bytes", "text", "compressed text", "fsspec.open", "a buffer"])
def test_a_file_that_is_never_closed_is_not_staged_and_named(
    fs: GravelerFileSystem, repo: Repository, how: str
) -> None:
    path = f"{repo.id}/main/forgotten"
    file = {
        "bytes": lambda: fs.open(path, "wb"),
        "text": lambda: fs.open(path, "w"),
        "compressed text": lambda: fs.open(path, "w", compression="gzip"),
        "fsspec.open": lambda: fsspec.open(f"graveler://{path}", "w", **fs.storage_options).open(),
        "a buffer": lambda: io.BufferedWriter(fs.open(path, "wb")),
    }[how]()
    file.write(b"x" if how in ("bytes", "a buffer") else "x")
    with pytest.warns(RuntimeWarning, match=f"graveler://{path}: was not closed, so that nothing was written"):
        del file
    assert not fs.exists(path)


@pytest.mark.parametrize(("cache", "staged"), [("simplecache", True), ("filecache", True), ("blockcache", False)])
def test_the_caches_of_fsspec_that_upload_half_a_file_are_those_that_the_guide_names(
    fs: GravelerFileSystem, repo: Repository, tmp_path: Path, cache: str, staged: bool
) -> None:
    options = {cache: {"cache_storage": str(tmp_path)}, "graveler": fs.storage_options}
    path = f"{repo.id}/main/half"

    def half() -> None:
        with fsspec.open(f"{cache}::graveler://{path}", "wb", **options) as file:
            file.write(b"half")
            raise RuntimeError("the body fails")

    with pytest.raises(RuntimeError, match="the body fails"):
        half()
    assert fs.exists(path) is staged


@pytest.mark.parametrize("codec", [None, "gzip"])
def test_a_file_without_autocommit_waits_for_its_commit(
    fs: GravelerFileSystem, repo: Repository, codec: str | None
) -> None:
    at = f"{repo.id}/main"
    files = [fs.open(f"{at}/{name}", "wb", compression=codec, autocommit=False) for name in ("kept", "dropped")]
    kept, dropped = files
    with pytest.raises(ValueError, match="is still open: close it before the commit"):
        kept.commit()
    for file in files:
        file.write(b"content")
        file.close()
    dropped.discard()
    dropped.commit()
    with fs.transaction:  # has files of its own
        pass
    assert list(repo.branch("main").uncommitted()) == []
    kept.commit()
    fs.rm(f"{at}/kept")
    kept.commit()
    assert list(repo.branch("main").uncommitted()) == []


def test_a_file_whose_commit_fails_can_be_committed_again(
    fs: GravelerFileSystem, repo: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    with fs.open(f"{repo.id}/main/x", "wb", autocommit=False) as file:
        file.write(b"content")

    def unavailable(*_: object, **__: object) -> None:
        raise Unavailable("the store is away")

    with monkeypatch.context() as patch:
        patch.setattr(Branch, "put", unavailable)
        with pytest.raises(Unavailable):
            file.commit()
    file.commit()
    assert fs.cat(f"{repo.id}/main/x") == b"content"


def test_content_of_a_wrong_type_is_refused(fs: GravelerFileSystem, repo: Repository) -> None:
    for value in (None, "text", 5):
        with pytest.raises(TypeError, match="bytes-like"):
            fs.pipe_file(f"{repo.id}/main/a", value)
    fs.pipe_file(f"{repo.id}/main/b", bytearray(b"b"))
    assert (fs.cat(f"{repo.id}/main/a"), fs.cat(f"{repo.id}/main/b")) == (b"a", b"b")


def test_a_file_that_is_moved_to_its_own_path_stays(fs: GravelerFileSystem, repo: Repository) -> None:
    at = f"{repo.id}/main"
    fs.mv(f"{at}/a", f"graveler://{at}/a")
    fs.mv(f"{at}/t/1", f"{at}/t/")
    fs.mv(f"{at}/t/1", f"{at}/t")
    fs.mv([f"{at}/t/1", f"{at}/t/2"], f"{at}/t/")
    assert list(repo.branch("main").uncommitted()) == []


def test_a_directory_moves_below_itself(fs: GravelerFileSystem, repo: Repository) -> None:
    at = f"{repo.id}/main"
    fs.mv(f"{at}/t", f"{at}/t/old", recursive=True)
    assert [item.path for item in repo.branch("main").list()] == ["a", "t/old/1", "t/old/2", "t/old/u/3"]
    assert fs.cat(f"{at}/t/old/u/3") == b"t/u/3"


def test_a_move_that_cannot_remove_copies_nothing(fs: GravelerFileSystem, repo: Repository) -> None:
    at = f"{repo.id}/main"
    with pytest.raises(PermissionError, match="'main@' is not a branch"):
        fs.mv(f"{at}@/a", f"{at}/b")
    with pytest.raises(IsADirectoryError, match="move them with recursive=True"):
        fs.mv(f"{at}/t", f"{at}/moved")
    with pytest.raises(FileNotFoundError):
        fs.mv(f"{at}/none", f"{at}/moved")
    assert list(repo.branch("main").uncommitted()) == []


def test_a_move_keeps_what_others_add(
    fs: GravelerFileSystem, repo: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    main = repo.branch("main")
    copy = GravelerFileSystem.copy

    def copy_amid_others(*arguments: object, **options: object) -> None:
        copy(*arguments, **options)
        main.put("t/new", b"of another")

    monkeypatch.setattr(GravelerFileSystem, "copy", copy_amid_others)
    fs.mv(f"{repo.id}/main/t", f"{repo.id}/main/moved", recursive=True)
    assert [item.path for item in main.list()] == ["a", "moved/1", "moved/2", "moved/u/3", "t/new"]


@pytest.mark.parametrize("source", ["a", "t"])
def test_a_move_keeps_what_others_replace(
    fs: GravelerFileSystem, repo: Repository, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    main = repo.branch("main")
    replaced = "a" if source == "a" else "t/2"
    copy = GravelerFileSystem.copy

    def copy_amid_others(*arguments: object, **options: object) -> None:
        copy(*arguments, **options)
        main.put(replaced, b"of another")

    monkeypatch.setattr(GravelerFileSystem, "copy", copy_amid_others)
    fs.mv(f"{repo.id}/main/{source}", f"{repo.id}/main/moved", recursive=True)
    moved = {"a": ["a", "moved", "t/1", "t/2", "t/u/3"], "t": ["a", "moved/1", "moved/2", "moved/u/3", "t/2"]}
    assert [item.path for item in main.list()] == moved[source]
    assert main.read(replaced) == b"of another"


def test_a_move_keeps_what_others_write_at_the_moment_of_the_removal(
    fs: GravelerFileSystem, repo: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    main = repo.branch("main")

    def amid_others(remove: Callable[..., None]) -> Callable[..., None]:
        def call(branch: Branch, *arguments: object) -> None:
            main.put("a", b"of another")
            remove(branch, *arguments)

        return call

    for method in ("remove", "remove_if"):
        monkeypatch.setattr(Branch, method, amid_others(getattr(Branch, method)))
    fs.mv(f"{repo.id}/main/a", f"{repo.id}/main/moved")
    assert (main.read("a"), main.read("moved")) == (b"of another", b"a")


def test_transactions_overwrite_copy_and_move_what_transactions_have_committed(
    fs: GravelerFileSystem, repo: Repository
) -> None:
    at = f"{repo.id}/main"
    for content in (b"first", b"second"):
        with fs.transaction:
            fs.pipe(f"{at}/d/x", content)
            fs.pipe(f"{at}/y", content)
    with fs.transaction:
        fs.cp(f"{at}/y", f"{at}/z")
        fs.cp(f"{at}/y", f"{at}/a")
        fs.mv(f"{at}/d", f"{at}/e", recursive=True)
    with fs.transaction:
        fs.rm(f"{at}/y")
        fs.pipe(f"{at}/y", b"third")
    with fs.transaction as same:
        fs.cp(f"{at}/y", f"{at}/y")
    assert same.commit_id is None
    found = {path: fs.cat(f"{at}@/{path}") for path in ("a", "e/x", "y", "z")}
    assert found == {"a": b"second", "e/x": b"second", "y": b"third", "z": b"second"}
    assert not fs.exists(f"{at}@/d")


def test_a_transaction_does_not_overwrite_its_own_files_unasked(fs: GravelerFileSystem, repo: Repository) -> None:
    path = f"{repo.id}/main/new"

    def write_and_open(mode: str) -> None:
        with fs.transaction:
            fs.pipe(path, b"first")
            fs.open(path, mode)

    with pytest.raises(ValueError, match="this transaction has written it"):
        write_and_open("ab")
    with pytest.raises(FileExistsError, match="exists"):
        write_and_open("xb")
    assert not fs.exists(path)


def test_transactions_do_not_nest(fs: GravelerFileSystem, repo: Repository) -> None:
    path = f"{repo.id}/main/new"

    def nest() -> None:
        with fs.transaction:
            fs.pipe(path, b"x")
            with fs.transaction:
                fs.pipe(path, b"y")

    with pytest.raises(RuntimeError, match="transactions do not nest"):
        nest()
    assert not fs.exists(path)
    with fs.transaction("outer"):
        fs.pipe(path, b"x")
        for begin in (fs.start_transaction, lambda: fs.transaction("inner")):
            with pytest.raises(RuntimeError, match="transactions do not nest"):
                begin()
    assert (fs.cat(path), repo.commit("main").message) == (b"x", "outer")
    fs.rm(path)
    repo.branch("main").commit("Removed")
    fs.start_transaction()
    fs.pipe(path, b"y")
    fs.end_transaction()
    assert repo.branch("main").read(path.removeprefix(f"{repo.id}/main/")) == b"y"
    assert not list(repo.branch("main").uncommitted())
    with fs.transaction:
        fs.pipe(path, b"x")
    assert fs.exists(path)


@pytest.mark.parametrize("body_fails", [True, False])
def test_a_transaction_ends_although_the_store_fails(
    fs: GravelerFileSystem, repo: Repository, monkeypatch: pytest.MonkeyPatch, body_fails: bool
) -> None:
    """The instance is cached: in a transaction that never ends, all later writes would be lost."""
    path = f"{repo.id}/main/new"

    def fail(self: GravelerFileSystem, at: object) -> None:
        raise Unavailable("the store fails")

    def write() -> None:
        with fs.transaction:
            fs.pipe(path, b"lost")
            monkeypatch.setattr(GravelerFileSystem, "branch", fail)
            if body_fails:
                raise RuntimeError("the body fails")

    with pytest.raises(RuntimeError if body_fails else Unavailable):
        write()
    monkeypatch.undo()
    fs.pipe(path, b"x")
    assert [change.path for change in repo.branch("main").uncommitted()] == ["new"]


def test_repositories_are_not_emptied(fs: GravelerFileSystem, repo: Repository) -> None:
    for path in (repo.id, f"graveler://{repo.id}/", ""):
        for remove in (fs.rm, lambda path, recursive: fs.mv(path, f"{repo.id}/main/x", recursive=recursive)):
            with pytest.raises(IsADirectoryError, match="must name a branch"):
                remove(path, recursive=True)
    assert list(repo.branch("main").uncommitted()) == []


def test_paths_are_text_or_paths(fs: GravelerFileSystem, repo: Repository) -> None:
    path = PurePosixPath(f"{repo.id}/main/a")
    assert fs.exists(path)
    assert fs.cat_file(path) == b"a"
    fs.mv(path, path.with_name("b"))
    fs.rm(path.with_name("b"))
    assert [change.path for change in repo.branch("main").uncommitted()] == ["a"]
    for wrong in (None, 5):
        with pytest.raises(TypeError, match="expected str"):
            fs.exists(wrong)


def test_directories_have_no_time_and_no_checksum(fs: GravelerFileSystem, repo: Repository) -> None:
    for ask in (fs.modified, fs.created, fs.ukey, fs.checksum):
        for path in (f"{repo.id}/main/t", f"{repo.id}/main"):
            with pytest.raises(IsADirectoryError, match="is a directory"):
                ask(path)


def test_a_store_that_cannot_be_read_does_not_look_empty(
    fs: GravelerFileSystem, repo: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"{repo.id}/main/a"

    def unavailable(*_: object, **__: object) -> None:
        raise Unavailable("the store is away")

    with monkeypatch.context() as away:
        away.setattr(GravelerFileSystem, "info", unavailable)
        for call in (fs.exists, fs.isfile, fs.isdir, lambda path: fs.open(path, "ab")):
            with pytest.raises(Unavailable, match="the store is away"):
                call(path)
    assert not fs.exists("Not A Name/main/a")
    assert fs.cat(path) == b"a"


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("recursive", [False, True])
@pytest.mark.parametrize("name", ["data[1]", "dat*", "data?"])
def test_a_name_that_exists_is_no_pattern(
    fs: GravelerFileSystem, repo: Repository, name: str, recursive: bool, inside: bool
) -> None:
    at = f"{repo.id}/main"
    for path in ("data1", name, f"{name}/below"):
        fs.pipe(f"{at}/{path}", b"")
    repo.branch("main").commit("names")
    with fs.transaction if inside else nullcontext():
        fs.rm(f"{at}/{name}", recursive=recursive)
    left = {"a", "data1", "t/1", "t/2", "t/u/3"} | (set() if recursive else {f"{name}/below"})
    assert {entry.path for entry in repo.branch("main").list()} == left
    with pytest.raises(FileNotFoundError):
        fs.rm(f"{at}/none*")


def test_a_pattern_of_a_transaction_stands_for_a_file_that_it_has_written(
    fs: GravelerFileSystem, repo: Repository
) -> None:
    at = f"{repo.id}/main"
    fs.pipe(f"{at}/data1", b"")
    repo.branch("main").commit("data1")
    with fs.transaction:
        fs.pipe(f"{at}/data[1]", b"")
        fs.rm(f"{at}/data[1]")
    assert "data1" in {entry.path for entry in repo.branch("main").list()}


@pytest.mark.parametrize("inside", [False, True])
def test_patterns_are_removed_with_everything_below(fs: GravelerFileSystem, repo: Repository, inside: bool) -> None:
    at = f"{repo.id}/main"
    repo.branch("main").put("t/v", b"v")
    repo.branch("main").commit("one more")
    with fs.transaction if inside else nullcontext():
        fs.rm([f"{at}/t/[u1]*", f"{at}/a"], recursive=True)
    assert [entry.path for entry in repo.branch("main").list()] == ["t/2", "t/v"]
    with pytest.raises(FileNotFoundError):
        fs.rm(f"{at}/none*", recursive=True)


def test_the_first_changes_of_two_threads_have_one_basis(
    fs: GravelerFileSystem, repo: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, seen = GravelerFileSystem.snapshot, list[str]()

    def snapshot(self: GravelerFileSystem, at: FsPath) -> Snapshot:
        if at.ref == "main@":
            seen.append(at.ref)
            time.sleep(0.2)
        return real(self, at)

    monkeypatch.setattr(GravelerFileSystem, "snapshot", snapshot)
    with fs.transaction, ThreadPoolExecutor(2) as pool:
        [*pool.map(lambda name: fs.pipe_file(f"{repo.id}/main/{name}", b"x"), ("x", "y"))]
    assert seen == ["main@"]
    assert fs.find(f"{repo.id}/main")[-2:] == [f"{repo.id}/main/x", f"{repo.id}/main/y"]
