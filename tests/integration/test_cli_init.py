"""`graveler init` and `config`: a default repository, short URIs, and where settings come from."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.integration.command_line import Cli, Ran, refused

CONFIG = """\
# Written by graveler init. Environment variables and options take precedence.
store = "sqlite:///.graveler/meta.db"
repository = "flights"
"""


@pytest.fixture
def begun(cli: Cli, here: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """A directory with a default repository; the working directory is one below it."""
    assert cli("init", "flights").code == 0
    (here / "below").mkdir()
    monkeypatch.chdir(here / "below")
    return cli


def settings(cli: Cli, *options: str) -> dict[str, tuple[str | None, str]]:
    return {row["name"]: (row["value"], row["source"]) for row in cli("config", "--json", *options).documents}


def put(cli: Cli, uri: str, content: str = "1") -> Ran:
    Path("content").write_text(content)
    return cli("put", "content", uri)


def test_a_directory_begins(cli: Cli, here: Path) -> None:
    made = cli("init", "flights", "--json").documents[0]
    assert made == {
        "repository": "flights",
        "storage_namespace": (here / ".graveler/data/flights").as_uri(),
        "default_branch": "main",
        "config": str(here / ".graveler/config"),
        "created": True,
    }
    assert (here / ".graveler/config").read_text() == CONFIG
    assert sorted(each.name for each in (here / ".graveler").iterdir() if "meta.db" not in each.name) == [
        "config",
        "data",
    ]


def test_a_second_time_says_so(begun: Cli, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(here)
    for words in (["init"], ["init", "flights"]):
        ran = begun(*words)
        assert ran.code == 0
        assert "repository flights is the default already" in ran.out
    refused(begun("init", "others"), "its default repository is 'flights' already", ".graveler/config")
    assert (here / ".graveler/config").read_text() == CONFIG
    assert [row["id"] for row in begun("repo", "list", "--json").documents] == ["flights"]


def test_a_default_repository_that_was_deleted_is_not_a_dead_end(cli: Cli, here: Path) -> None:
    assert cli("init", "flights").code == 0
    assert cli("repo", "delete", ".", "--yes").code == 0
    for words in (["init"], ["init", "flights"]):
        refused(cli(*words), "deleted repository 'flights'", "graveler repo undelete", "graveler clean")
    assert cli("repo", "undelete", ".").code == 0
    assert "is the default already" in cli("init").out
    assert cli("repo", "delete", ".", "--yes", "--wait", "--alone").code == 0
    made = cli("init", "--adopt", "--json").documents[0]
    assert (made["repository"], made["created"]) == ("flights", True)
    assert (here / ".graveler/config").read_text() == CONFIG
    assert put(cli, "main/a").code == 0


def test_the_name_is_that_of_the_directory(cli: Cli, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("Air Lines", "ab"):
        (here / name).mkdir()
    monkeypatch.chdir(here / "Air Lines")
    assert cli("init", "--json").documents[0]["repository"] == "air-lines"
    monkeypatch.chdir(here / "ab")
    refused(cli("init"), "'ab'", "give one")


def test_a_repository_that_exists_is_used(cli: Cli, here: Path) -> None:
    """As after a crash between the two steps, or on a second machine."""
    cli("repo", "create", "graveler://flights")
    made = cli("init", "flights", "--json").documents[0]
    assert made["created"] is False
    assert (here / ".graveler/config").read_text() == CONFIG


def test_short_uris_work_in_every_verb(begun: Cli) -> None:
    assert put(begun, "main/raw/x").code == 0
    steps = [
        ["commit", "main", "-m", "one"],
        ["branch", "create", "dev", "--source", "main"],
        ["cp", "dev/raw/x", "dev/raw/y"],
        ["mv", "dev/raw/y", "dev/raw/z"],
        ["status", "dev"],
        ["commit", "dev", "-m", "two"],
        ["diff", "main...dev"],
        ["diff", "main", "dev"],
        ["merge", "dev", "main"],
        ["tag", "create", "v1", "main"],
        ["branch", "list"],
        ["tag", "list"],
        ["reflog"],
        ["reflog", "dev"],
        ["du", "."],
        ["du", "main/raw/"],
        ["log", "main"],
        ["show", "main"],
        ["cat", "v1/raw/z"],
        ["get", "v1/raw/z", "z"],
        ["revert", "main", "main", "--mainline", "1"],
        ["cherry-pick", "dev", "main"],
        ["rm", "main/raw/z"],
        ["reset", "main", "--yes"],
        ["branch", "protect", "main"],
        ["branch", "protections"],
        ["check", "required"],
        ["fsck"],
        ["repo", "thresholds", "."],
        ["tag", "delete", "v1", "--yes"],
        ["branch", "delete", "dev", "--yes"],
    ]
    for words in steps:
        ran = begun(*words)
        assert ran.code == 0, (words, ran.err)
    assert Path("z").read_text() == "1"


def test_full_uris_still_name_other_repositories(begun: Cli) -> None:
    assert begun("repo", "create", "graveler://other").code == 0
    assert begun("ls", "graveler://other/main").out == ""
    assert begun("ls", "main").code == 0


def test_a_ref_that_does_not_exist_says_what_was_meant(begun: Cli) -> None:
    refused(
        begun("ls", "mian/raw/"), "no branch, tag or commit 'mian'", "'mian/raw/' means graveler://flights/mian/raw/"
    )
    refused(begun("ls", "graveler://flights/mian"), "no branch, tag or commit 'mian'")
    assert "means" not in begun("ls", "graveler://flights/mian").err


def test_without_a_default_a_short_uri_is_refused(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    refused(cli("ls", "main/raw"), "'main/raw'", "there is no default repository", "graveler init")
    refused(cli("branch", "list"), "there is no default repository")
    monkeypatch.setenv("GRAVELER_REPOSITORY", "flights")
    refused(cli("ls", "main/raw"), "repository 'flights'")


def test_precedence(begun: Cli, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Option, environment, file, default."""
    file = str(here / ".graveler/config")
    found = settings(begun)
    assert found["store"] == (f"sqlite:///{here}/.graveler/meta.db", file)
    assert found["repository"] == ("flights", file)
    assert found["data"] == ((here / ".graveler/data").as_uri(), file)
    assert found["config"] == (file, "found upwards from the working directory")
    assert found["committer"] == ("ada", "GRAVELER_COMMITTER")
    assert found["log_format"] == ("text", "default")
    monkeypatch.setenv("GRAVELER_STORE", "sqlite:///other.db")
    monkeypatch.setenv("GRAVELER_REPOSITORY", "other")
    found = settings(begun)
    assert found["store"] == ("sqlite:///other.db", "GRAVELER_STORE")
    assert found["repository"] == ("other", "GRAVELER_REPOSITORY")
    assert settings(begun, "--store", "memory://")["store"] == ("memory://", "option")
    monkeypatch.setenv("GRAVELER_CONFIG", "")
    monkeypatch.delenv("GRAVELER_REPOSITORY")
    assert settings(begun)["repository"] == (None, "default")


def test_a_named_file_is_used_from_anywhere(
    begun: Cli, here: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    refused(begun("ls", "main"))
    monkeypatch.setenv("GRAVELER_CONFIG", str(here / ".graveler/config"))
    assert begun("ls", "main").code == 0


def test_secrets_stay_out_of_the_file(cli: Cli, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A password that is in a file is refused, with the variable to use."""
    folder = here / ".graveler"
    folder.mkdir()
    (folder / "config").write_text('store = "postgresql://ada:secret@host/db"\n')
    ran = cli("repo", "list")
    refused(ran, "contains a secret", "GRAVELER_STORE")
    assert "secret@" not in ran.err


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("repository = 3", "repository must be text"),
        ("colour = 'red'", "'colour' must be one of store, repository, data"),
        ("store = ", "cannot be read"),
    ],
)
def test_a_malformed_file_is_refused(cli: Cli, here: Path, text: str, told: str) -> None:
    (here / ".graveler").mkdir()
    (here / ".graveler/config").write_text(text)
    refused(cli("repo", "list"), told, str(here / ".graveler/config"))


def test_the_file_of_another_user_is_refused(begun: Cli, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = here / ".graveler/config"
    mine = file.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: mine + 1)
    if mine == 0:
        os.chown(file, 4242, -1)
    refused(begun("ls", "main"), "belongs to another user", "GRAVELER_CONFIG")
    monkeypatch.setenv("GRAVELER_CONFIG", str(file))
    assert begun("ls", "main").code == 0


def test_a_directory_below_may_have_its_own(begun: Cli) -> None:
    """It does not use the store of the directory above."""
    made = begun("init", "inner", "--json").documents[0]
    assert made["storage_namespace"] == (Path.cwd() / ".graveler/data/inner").as_uri()
    assert [row["id"] for row in begun("repo", "list", "--json").documents] == ["inner"]
