"""`graveler get`, and transfers of several files at once."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import graveler
from graveler_core.errors import InvalidInput
from graveler_core.local import file_output
from graveler_core.local.concurrent import AT_ONCE, concurrently
from graveler_core.local.file_output import local_path
from graveler_core.model.entry import Entry
from tests.integration.command_line import Cli, put, refused
from tests.old_paths import any_path


def files(directory: Path) -> dict[str, bytes]:
    return {str(file.relative_to(directory)): file.read_bytes() for file in directory.rglob("*") if file.is_file()}


@pytest.mark.usefixtures("flights")
def test_one_object(flights: Cli, here: Path) -> None:
    ran = flights("get", "graveler://flights/main/raw/jan.csv", "copy.csv", "--json")
    content = flights("cat", "graveler://flights/main/raw/jan.csv").out
    assert (here / "copy.csv").read_text() == content
    assert ran.documents == [{"path": "raw/jan.csv", "file": "copy.csv", "size": len(content)}]
    (here / "copy.csv").write_text("old")
    assert flights("get", "graveler://flights/main/raw/jan.csv", "copy.csv").code == 0
    assert (here / "copy.csv").read_text() == content
    (here / "into").mkdir()
    assert flights("get", "graveler://flights/main/raw/jan.csv", "into").code == 0
    assert files(here / "into") == {"jan.csv": content.encode()}


def test_a_pipe_receives_an_object_and_stays(flights: Cli, here: Path) -> None:
    content = flights("cat", "graveler://flights/main/raw/jan.csv").out
    pipe = here / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as reader:
        received = reader.submit(pipe.read_text)
        assert flights("get", "graveler://flights/main/raw/jan.csv", "pipe").code == 0
        assert received.result(30) == content
    assert pipe.is_fifo()


def test_a_directory_comes_back_as_it_was_put(flights: Cli, here: Path) -> None:
    for number in range(3 * AT_ONCE):
        file = here / "many" / f"{number % 3}" / f"{number}.csv"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"x" * number)
    ran = flights("put", "-r", "many", "graveler://flights/main/many", "--json")
    names = [document["path"] for document in ran.documents]
    assert names == sorted(names)
    assert flights("get", "-r", "graveler://flights/main/many/", "back").code == 0
    assert files(here / "back") == files(here / "many")
    assert flights("get", "-r", "graveler://flights/main/many/1", "part").code == 0
    assert {name.split("/")[0] for name in files(here / "part")} == {"1"}


def test_what_cannot_be_got(flights: Cli, here: Path) -> None:
    refused(flights("get", "graveler://flights/main/none", "x"), "none")
    refused(flights("get", "-r", "graveler://flights/main/none/", "x"), "none/")
    refused(flights("get", "graveler://flights/main/raw/jan.csv", "-"), "'-'", "use cat")
    assert not (here / "-").exists()
    assert not (here / "x").exists()


def test_damaged_content_replaces_nothing(flights: Cli, here: Path) -> None:
    with graveler.connect("sqlite:///.graveler/meta.db") as g:
        uri = g.repository("flights").branch("main").uri("raw/jan.csv")
    Path(uri.removeprefix("file://")).write_bytes(b"damaged")
    (here / "copy.csv").write_text("mine")
    refused(flights("get", "graveler://flights/main/raw/jan.csv", "copy.csv"), "raw/jan.csv")
    assert (here / "copy.csv").read_text() == "mine"
    assert [file for file in here.iterdir() if file.name.startswith(".graveler-")] == []


def test_paths_that_lead_elsewhere_are_refused_before_any_download(flights: Cli, here: Path) -> None:
    with graveler.connect("sqlite:///.graveler/meta.db") as g:
        main = g.repository("flights").branch("main")
        with any_path():
            for path in ("odd/a", "odd/../../escaped"):
                main.stage(path, Entry(address="data/none", size=0))
    refused(flights("get", "-r", "graveler://flights/main/odd/", "down"), "odd/../../escaped"[4:])
    assert not (here / "down").exists()
    assert not (here.parent / "escaped").exists()


def test_a_file_cannot_be_a_directory_too(flights: Cli, here: Path) -> None:
    (here / "local-file").write_text("x")
    flights("put", "local-file", "graveler://flights/main/both/a")
    flights("put", "local-file", "graveler://flights/main/both/a/b")
    refused(flights("get", "-r", "graveler://flights/main/both/", "down"), "both/a/b")
    assert not (here / "down").exists()


def test_a_file_system_that_does_not_distinguish_capitals(
    flights: Cli, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in ("both/A/x", "both/a/x", "both/a/y"):
        put(flights, path, path.encode())
    assert flights("get", "-r", "graveler://flights/main/both/", "down").code == 0
    assert files(here / "down") == {"A/x": b"both/A/x", "a/x": b"both/a/x", "a/y": b"both/a/y"}
    monkeypatch.setattr(file_output, "ignores_case", lambda directory: True)
    refused(flights("get", "-r", "graveler://flights/main/both/", "other"), "'both/A/x'", "'both/a/x'")
    assert not (here / "other").exists()
    assert flights("get", "-r", "graveler://flights/main/both/a/", "other").code == 0


def test_paths_that_end_in_a_slash_become_directories(flights: Cli, here: Path) -> None:
    with graveler.connect("sqlite:///.graveler/meta.db") as g:
        main = g.repository("flights").branch("main")
        for path, content in {"kept/": b"", "kept/a": b"1", "kept/empty/": b"", "kept/full/": b"mode"}.items():
            main.put(path, content)
    ran = flights("get", "-r", "graveler://flights/main/kept/", "down", "--json")
    assert [document["path"] for document in ran.documents] == ["kept/a"]
    assert ran.code == 0
    assert "'kept/full/'" in ran.err
    assert "empty" not in ran.err
    assert files(here / "down") == {"a": b"1"}
    assert sorted(path.name for path in (here / "down").iterdir()) == ["a", "empty", "full"]
    assert flights("get", "graveler://flights/main/kept/full/", "content").code == 0
    assert (here / "content").read_bytes() == b"mode"
    assert flights("get", "-r", "graveler://flights/main/kept/empty/", "none").code == 0
    assert list((here / "none").iterdir()) == []


def test_a_file_cannot_be_an_empty_directory_too(flights: Cli, here: Path) -> None:
    with graveler.connect("sqlite:///.graveler/meta.db") as g:
        main = g.repository("flights").branch("main")
        main.put("both/a", b"1")
        main.put("both/a/", b"")
    refused(flights("get", "-r", "graveler://flights/main/both/", "down"), "both/a/")
    assert not (here / "down").exists()


@pytest.mark.parametrize("path", ["", "/a", "a//b", "..", "a/../b", ".", "a/", "a\0b"])
def test_paths_without_a_local_name(path: str) -> None:
    with pytest.raises(InvalidInput, match="cannot be a local file"):
        local_path(path)


def test_results_keep_their_order_and_the_first_error_ends_the_rest() -> None:
    begun = []
    lock = threading.Lock()

    def work(number: int) -> int:
        with lock:
            begun.append(number)
        if number == 40:
            raise ValueError("forty")
        return number

    results = concurrently(work, range(10_000))
    assert [next(results) for _ in range(40)] == list(range(40))
    with pytest.raises(ValueError, match="forty"):
        next(results)
    assert len(begun) < 200
