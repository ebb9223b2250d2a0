"""The command line on real stores: the whole story on SQLite, bad input, and real processes, pipes and terminals."""

from __future__ import annotations

import json
import os
import pty
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.command_line import Cli, Ran, paths, put, refused
from tests.old_paths import any_path

PROGRAM = [sys.executable, "-c", "from graveler_core.cli.startup import main; main()"]
HEAVY = {"dagster", "pyspark", "pandas", "matplotlib"}
HOSTILE = "[bold red]\x1b[2J[/]"


def test_settles_in_the_working_directory(cli: Cli, here: Path) -> None:
    ran = cli("repo", "create", "graveler://flights", "--json")
    assert ran.code == 0
    assert ran.documents[0]["id"] == "flights"
    assert ran.documents[0]["storage_namespace"] == f"{here.as_uri()}/.graveler/data/flights"
    assert (here / ".graveler" / "meta.db").is_file()


def test_repositories(cli: Cli, here: Path) -> None:
    cli("repo", "create", "graveler://weather", "--default-branch", "trunk")
    namespace = (here / "elsewhere").as_uri()
    cli("repo", "create", "graveler://flights", "--storage-namespace", namespace)
    listed = cli("repo", "list")
    assert [row[:2] for row in listed.lines] == [["flights", "main"], ["weather", "trunk"]]
    assert listed.lines[0][3] == namespace
    assert cli("repo", "delete", "graveler://flights", "--yes", "--json").documents == [{"deleted": "flights"}]
    assert [row["id"] for row in cli("repo", "list", "--json").documents] == ["weather"]


def test_lists_directories_or_everything(flights: Cli) -> None:
    assert [row[2] for row in flights("ls", "graveler://flights/main").lines] == ["raw/", "readme"]
    assert [row[0] for row in flights("ls", "graveler://flights/main/raw/").lines] == ["8", "7"]
    assert paths(flights, "graveler://flights/main") == ["raw/feb.csv", "raw/jan.csv", "readme"]
    assert [row["type"] for row in flights("ls", "graveler://flights/main", "--json").documents] == ["prefix", "object"]
    rest = flights("ls", "-r", "graveler://flights/main", "--after", "raw/feb.csv", "--limit", "1", "--json")
    assert [row["path"] for row in rest.documents] == ["raw/jan.csv"]
    assert flights("ls", "graveler://flights/main/nothing/") == Ran(0, "", "")


def test_an_object_comes_back_byte_by_byte(flights: Cli, here: Path) -> None:
    content = bytes(range(256)) * 4_096
    (here / "big").write_bytes(content)
    flights("put", "big", "graveler://flights/main/raw/")
    ran = subprocess.run([*PROGRAM, "cat", "graveler://flights/main/raw/big"], check=False, capture_output=True)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, content, b"")


def test_what_is_uncommitted(flights: Cli) -> None:
    put(flights, "raw/jan.csv", b"January, again")
    put(flights, "raw/mar.csv", b"march")
    assert flights("rm", "graveler://flights/main/readme").code == 0
    ran = flights("status", "graveler://flights/main")
    assert ran.lines[0][0].startswith("branch main at ")
    assert [(row[0], row[-1]) for row in ran.lines[1:]] == [
        ("changed", "raw/jan.csv"),
        ("added", "raw/mar.csv"),
        ("removed", "readme"),
    ]
    head, *changes = flights("status", "graveler://flights/main/raw/", "--json").documents
    assert head["type"] == "branch"
    assert head["id"] == "main"
    assert [(row["kind"], row["path"]) for row in changes if row["type"] == "change"] == [
        ("changed", "raw/jan.csv"),
        ("added", "raw/mar.csv"),
    ]


def test_status_shows_the_layers(flights: Cli) -> None:
    put(flights, "raw/mar.csv", b"march")
    assert flights("rm", "-r", "--yes", "graveler://flights/main/raw/").code == 0
    layers = [row for row in flights("status", "graveler://flights/main", "--json").documents if row["type"] == "layer"]
    assert ("removal", "raw/") in [(layer["kind"], layer["prefix"]) for layer in layers]
    assert paths(flights, "graveler://flights/main") == ["readme"]


def test_reset_of_a_prefix_of_all_and_of_the_head(flights: Cli) -> None:
    put(flights, "raw/mar.csv", b"march")
    put(flights, "other", b"other")
    assert flights("reset", "--yes", "graveler://flights/main/raw/").code == 0
    assert paths(flights, "graveler://flights/main") == ["other", "raw/feb.csv", "raw/jan.csv", "readme"]
    assert flights("reset", "--yes", "graveler://flights/main").code == 0
    assert paths(flights, "graveler://flights/main") == ["raw/feb.csv", "raw/jan.csv", "readme"]
    put(flights, "raw/mar.csv", b"march")
    flights("commit", "graveler://flights/main", "-m", "March")
    moved = flights("reset", "--yes", "graveler://flights/main", "--hard", "main~1", "--json").documents[0]
    assert moved["commit_id"] == flights("log", "graveler://flights/main", "-n", "1", "--json").documents[0]["id"]
    assert paths(flights, "graveler://flights/main") == ["raw/feb.csv", "raw/jan.csv", "readme"]


def test_conflicts_one_a_line_and_nothing_changed(flights: Cli) -> None:
    flights("branch", "create", "graveler://flights/dev")
    for branch in ("main", "dev"):
        put(flights, "raw/jan.csv", branch.encode(), branch)
        with any_path():
            put(flights, HOSTILE, branch.encode(), branch)
        flights("commit", f"graveler://flights/{branch}", "-m", f"Change on {branch}")
    before = flights("log", "graveler://flights/main").out
    words = ["merge", "graveler://flights/dev", "graveler://flights/main"]
    ran = flights(*words)
    refused(ran)
    both = [["added in both", "", "3", "4", "[bold red]\\x1b[2J[/]"], ["changed in both", "7", "3", "4", "raw/jan.csv"]]
    assert ran.lines == both
    ran = flights(*words, "--dry-run")
    refused(ran, "both sides changed 2 paths")
    assert ran.lines == both
    ran = flights(*words, "--dry-run", "--strategy", "source")
    assert (ran.code, ran.lines) == (0, both)
    ran = flights(*words, "--json")
    refused(ran)
    assert [(row["type"], row["path"]) for row in ran.documents] == [("conflict", HOSTILE), ("conflict", "raw/jan.csv")]
    assert ran.documents[1]["source"]["size"] == 3
    assert ran.documents[1]["destination"]["size"] == 4
    assert flights("log", "graveler://flights/main").out == before
    assert flights(*words, "--strategy", "source").code == 0
    assert flights("cat", "graveler://flights/main/raw/jan.csv").out == "dev"


def test_tags(flights: Cli) -> None:
    head = flights("log", "graveler://flights/main", "-n", "1", "--json").documents[0]["id"]
    (made,) = flights("tag", "create", "graveler://flights/v1", "main", "-m", "First", "--json").documents
    created = made.pop("creation_date")
    assert created.startswith("20")
    attributes = {"tagger": "", "metadata": {}, "target": "commit", "tree": None, "tagged": None}
    assert made == {"id": "v1", "commit_id": head, "message": "First", "signature": "", **attributes}
    assert flights("tag", "list", "graveler://flights").lines == [[head, "v1", "First", "", f"commit {head[:12]}"]]
    assert paths(flights, "graveler://flights/v1/raw/") == ["raw/feb.csv", "raw/jan.csv"]
    given = ("--expected", head, "-m", "Second", "--tagger", "ada", "--meta", "run=7", "--meta", "b=2")
    (made,) = flights("tag", "assign", "graveler://flights/v1", "main", *given, "--json").documents
    assert (made["tagger"], made["metadata"], made["creation_date"]) == ("ada", {"b": "2", "run": "7"}, created)
    assert flights("tag", "show", "graveler://flights/v1").lines == [
        [head, "v1", "Second", "ada", f"commit {head[:12]}"]
    ]
    assert flights("tag", "delete", "graveler://flights/v1", "--yes").code == 0
    assert flights("tag", "list", "graveler://flights").out == ""


def test_hostile_paths_and_messages_are_shown_harmless(flights: Cli) -> None:
    with any_path():
        put(flights, f"{HOSTILE}\nx", b"1")
    flights("commit", "graveler://flights/main", "-m", f"{HOSTILE}\nmore", "--committer", HOSTILE)
    for words in (["ls", "-r", "graveler://flights/main"], ["log", "graveler://flights/main"]):
        shown = flights(*words).out
        assert "\x1b" not in shown
        assert "[bold red]\\x1b[2J[/]" in shown
    assert f"{HOSTILE}\nx" in paths(flights, "graveler://flights/main")


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("ls graveler://absent/main", "absent"),
        ("ls graveler://flights/absent", "absent"),
        ("cat graveler://flights/main/absent", "absent"),
        ("rm graveler://flights/main/absent", "absent"),
        ("rm -r --yes graveler://flights/main/absent/", "absent"),
        ("put content graveler://flights/absent/x", "absent"),
        ("put content graveler://flights/main~1/x", "main~1"),
        ("commit graveler://flights/absent -m x", "absent"),
        ("status graveler://flights/absent", "absent"),
        ("log graveler://flights/absent", "absent"),
        ("log graveler://flights/main~99", "main~99"),
        ("diff graveler://flights/main..absent", "absent"),
        ("merge graveler://flights/absent graveler://flights/main", "absent"),
        ("merge graveler://flights/main graveler://flights/absent", "absent"),
        ("branch create graveler://flights/dev --source absent", "absent"),
        ("branch create graveler://flights/-dev", "-dev"),
        ("branch create graveler://flights/main", "main"),
        ("branch delete graveler://flights/absent", "absent"),
        ("tag create graveler://flights/v1 absent", "absent"),
        ("tag delete graveler://flights/absent", "absent"),
        ("reset graveler://flights/absent", "absent"),
        ("reset graveler://flights/main --hard absent", "absent"),
        ("repo create graveler://flights", "flights"),
        ("repo create graveler://Flights", "Flights"),
        ("repo create graveler://weather --storage-namespace ftp://x", "ftp://x"),
        ("repo create graveler://weather --storage-namespace=", "storage namespace ''"),
        ("restore graveler://flights x --storage-namespace=", "need --create"),
        ("repo delete graveler://absent", "absent"),
        ("commit graveler://flights/main -m x", "main"),
    ],
)
def test_bad_input_is_one_clear_error_and_changes_nothing(flights: Cli, words: str, named: str) -> None:
    Path("content").write_bytes(b"content")

    def everything() -> list[str]:
        whole = ["repo list", "branch list graveler://flights", "tag list graveler://flights"]
        return [
            flights(*w.split()).out for w in [*whole, "status graveler://flights/main", "log graveler://flights/main"]
        ]

    before = everything()
    refused(flights(*words.split()), named)
    assert everything() == before


def test_a_namespace_belongs_to_one_repository(flights: Cli, here: Path) -> None:
    namespace = f"{here.as_uri()}/.graveler/data/flights/inside"
    refused(flights("repo", "create", "graveler://weather", "--storage-namespace", namespace), "flights")
    assert len(flights("repo", "list").lines) == 1


def test_a_dirty_destination_is_refused(flights: Cli) -> None:
    flights("branch", "create", "graveler://flights/dev")
    put(flights, "raw/mar.csv", b"march", "dev")
    flights("commit", "graveler://flights/dev", "-m", "March")
    put(flights, "raw/apr.csv", b"april")
    refused(flights("merge", "graveler://flights/dev", "graveler://flights/main"), "main")
    refused(flights("reset", "--yes", "graveler://flights/main", "--hard", "main~1"), "main")
    assert "raw/apr.csv" in paths(flights, "graveler://flights/main")


def test_a_store_that_cannot_be_used(cli: Cli, here: Path) -> None:
    (here / "text.db").write_text("this is no database" * 100)
    refused(cli("--store", "sqlite:///text.db", "repo", "list"), "text.db")
    refused(cli("--store", "nosuch://x", "repo", "list"), "nosuch")
    refused(cli("--store", "", "repo", "list"), "no key-value store has the URL ''")
    refused(cli("--store", "memory://", "repo", "list", "--store", ""), "no key-value store has the URL ''")
    ran = cli("--store", "postgresql://ada:secret-word@127.0.0.1:1/x", "repo", "list")
    refused(ran)
    assert "secret-word" not in ran.err


def test_local_files_that_cannot_be_put(flights: Cli, here: Path) -> None:
    refused(flights("put", "absent", "graveler://flights/main/x"), "absent")
    refused(flights("put", "local", "graveler://flights/main/x"), "local", "-r")
    refused(flights("put", "-r", "local/readme", "graveler://flights/main/x"), "local/readme")
    assert [row["type"] for row in flights("status", "graveler://flights/main", "--json").documents] == ["branch"]


def test_standard_input(flights: Cli) -> None:
    ran = subprocess.run(
        [*PROGRAM, "put", "-", "graveler://flights/main/piped", "--json"],
        input=b"from a pipe",
        capture_output=True,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert json.loads(ran.stdout) == {"path": "piped", "size": 11}
    assert flights("cat", "graveler://flights/main/piped").out == "from a pipe"


@pytest.mark.ci
def test_a_closed_pipe_ends_it_quietly(flights: Cli, here: Path) -> None:
    many = here / "many"
    many.mkdir()
    for number in range(300):
        (many / f"{number:03}-{'x' * 240}").write_bytes(b"")
    flights("put", "-r", "many", "graveler://flights/main/many")
    process = subprocess.Popen(
        [*PROGRAM, "ls", "-r", "graveler://flights/main", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.close()
    _, err = process.communicate()
    assert (process.returncode, err) == (141, b"")


@pytest.mark.ci
def test_nobody_reads_a_help_text() -> None:
    process = subprocess.Popen([*PROGRAM, "ls", "--help"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.close()
    _, err = process.communicate()
    assert (process.returncode, err) == (141, b"")


@pytest.mark.ci
def test_standard_input_has_no_name_to_add(flights: Cli) -> None:
    ran = subprocess.run(
        [*PROGRAM, "put", "-", "graveler://flights/main/raw/"], input="x", capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout) == (1, "")
    assert "standard input has no file name" in ran.stderr
    assert "raw/" not in paths(flights, "graveler://flights/main")


@pytest.mark.ci
def test_standard_input_may_be_closed(flights: Cli) -> None:
    command = shlex.join([*PROGRAM, "put", "-", "graveler://flights/main/raw/new"])
    ran = subprocess.run(["/bin/sh", "-c", f"{command} <&-"], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (1, "", "error: file '-': standard input is closed\n")


@pytest.mark.ci
@pytest.mark.parametrize(("closed", "shown"), [(">&-", ""), ("2>&-", "\t"), (">&- 2>&-", "")])
def test_a_stream_may_be_closed(flights: Cli, closed: str, shown: str) -> None:
    command = shlex.join([*PROGRAM, "ls", "graveler://flights/main"])
    ran = subprocess.run(["/bin/sh", "-c", f"{command} {closed}"], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout[:1], ran.stderr) == (0, shown, "")


def test_an_interruption_ends_it_with_one_line(flights: Cli) -> None:
    process = subprocess.Popen(
        [*PROGRAM, "put", "-", "graveler://flights/main/endless"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    process.stdin.write(b"x" * (1 << 20))  # more than a pipe holds: it returns once the upload is being read
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert (process.returncode, out, err) == (130, b"", b"error: interrupted\n")
    assert "endless" not in paths(flights, "graveler://flights/main")


def test_a_terminal_gets_tables(flights: Cli) -> None:
    keyboard, screen = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    process = subprocess.Popen([*PROGRAM, "ls", "graveler://flights/main"], stdout=screen, env=environment)
    os.close(screen)
    shown = b""
    try:
        while chunk := os.read(keyboard, 4096):
            shown += chunk
    except OSError:  # Linux ends a pseudo-terminal so
        assert process.wait() == 0
    finally:
        os.close(keyboard)
    text = shown.decode()
    assert "modified" in text
    assert "5 B" in text
    assert "\x1b[" in text


def loaded(words: list[str]) -> set[str]:
    """The top-level packages that a run of the program loads."""
    script = (
        "import atexit, sys\n"
        "atexit.register(lambda: print(*{name.partition('.')[0] for name in sys.modules}, file=sys.stderr))\n"
        "from graveler_core.cli.startup import main; main()"
    )
    ran = subprocess.run([sys.executable, "-c", script, *words], capture_output=True, text=True, check=False)
    return set(ran.stderr.splitlines()[-1].split())


def test_help_and_wrong_input_load_nothing_heavy(here: Path) -> None:
    engine = {"polars", "obstore", "sqlalchemy", "psycopg", "sqlite3", "pydantic_settings"}
    for words in (["ls", "--help"], ["ls", "graveler:///main"], ["frobnicate"]):
        packages = loaded(words)
        assert "typer" in packages
        assert not packages & (HEAVY | engine)


def test_a_verb_loads_only_what_it_uses(flights: Cli) -> None:
    put(flights, "raw/mar.csv", b"march")
    packages = loaded(["ls", "-r", "graveler://flights/main", "--json"])
    assert "sqlite3" in packages
    assert not packages & (HEAVY | {"sqlalchemy", "psycopg", "rich"})
