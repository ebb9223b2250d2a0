"""The command line in an empty directory, and on a repository with something in it; empty stores of each kind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from graveler_core.cli.app import run
from tests.integration.command_line import Cli, Ran
from tests.postgresql_server import empty_database


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory with default settings."""
    for name in ("GRAVELER_STORE", "GRAVELER_DATA", "GRAVELER_REPOSITORY", "GRAVELER_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GRAVELER_COMMITTER", "ada")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def cli(here: Path, capfd: pytest.CaptureFixture[str]) -> Cli:
    """Runs a command line in this process."""

    def call(*arguments: str) -> Ran:
        capfd.readouterr()
        code = run(arguments)
        return Ran(code, *capfd.readouterr())

    return call


@pytest.fixture
def flights(cli: Cli, here: Path) -> Cli:
    """A repository whose main branch holds three paths in one commit."""
    assert cli("repo", "create", "graveler://flights").code == 0
    raw = here / "local" / "raw"
    raw.mkdir(parents=True)
    (raw / "jan.csv").write_bytes(b"january")
    (raw / "feb.csv").write_bytes(b"february")
    (here / "local" / "readme").write_bytes(b"hello")
    assert cli("put", "-r", "local", "graveler://flights/main/").code == 0
    assert cli("commit", "graveler://flights/main", "-m", "Load two months", "--meta", "rows=2").code == 0
    return cli


@pytest.fixture(params=["sqlite", "postgresql"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of an empty store of each kind."""
    with empty_database(request, f"sqlite:///{tmp_path}/target.db?durability=process") as found:
        yield found
