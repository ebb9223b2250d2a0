"""The guide on writing a store, followed word by word: a project outside the repository that passes the suite."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
UV = ROOT / ".tools" / "bin" / "uv"
SECTION = (ROOT / "docs" / "stores.md").read_text().split("\n## Write a store\n")[1].split("\n## ")[0]
FILES = re.findall(r"^```(?:toml|python)\n# (\S+)\n(.*?)^```$", SECTION, re.MULTILINE | re.DOTALL)
(COMMANDS,) = re.findall(r"^```sh\n(.*?)^```$", SECTION, re.MULTILINE | re.DOTALL)
CASES = 80


@pytest.mark.ci
def test_a_store_is_written_as_the_guide_says(tmp_path: Path) -> None:
    """The package is installed into a directory of its own, which stands in for an environment."""
    project, site = tmp_path / "project", tmp_path / "site"
    project.mkdir()
    for name, text in FILES:
        (project / name).write_text(text)
    assert {path.name for path in project.iterdir()} == {"pyproject.toml", "graveler_shelf.py", "test_shelf.py"}
    install, suite, session = COMMANDS.splitlines()

    assert install == "pip install ."
    options = ["--no-deps", "--no-build-isolation", "--offline", "--python", sys.executable, "--target", str(site)]
    run([str(UV), "pip", "install", "-q", *options, "."], project)
    # The suite must find the installed package, not the file beside the test.
    (project / "graveler_shelf.py").unlink()

    assert suite == "pytest test_shelf.py"
    plugins = ["-p", "no:cacheprovider", "--rootdir", str(project)]
    told = run([sys.executable, "-m", *suite.split()[:1], "-q", *plugins, "test_shelf.py"], project, site)
    passed = re.search(r"(\d+) passed", told)
    assert passed is not None
    assert int(passed[1]) >= CASES
    assert "skipped" not in told

    graveler = str(Path(sys.executable).with_name("graveler"))
    place = session.split()[2]
    assert session == f"graveler --store {place} repo list"
    here = f"shelf://{tmp_path}/shelf.db"
    namespace = (tmp_path / "lake").as_uri()
    create = [graveler, "--store", here, "repo", "create", "graveler://flights", "--storage-namespace", namespace]
    run(create, project, site)
    assert "flights" in run([graveler, "--store", here, "repo", "list"], project, site)


def run(command: list[str], directory: Path, site: Path | None = None) -> str:
    environment = {**os.environ, "PYTHONPATH": str(site)} if site else dict(os.environ)
    done = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3_000:]
    return done.stdout
