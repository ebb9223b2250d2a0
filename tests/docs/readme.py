"""The examples of the README, as a reader runs them: in the order of the page, in one directory."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_READ = re.compile(r"`(pd\.read_parquet\(.*?\))`")
_CLONE = re.compile(r"`(graveler local clone .*?)`")
_INSTALL = re.compile(r'`pip install "\.\[([a-z,]+)\]"`')


def extras() -> list[str]:
    """Return the extras that the README's `pip install` names."""
    (found,) = _INSTALL.findall((ROOT / "README.md").read_text())
    return found.split(",")


def run_examples(python: Path, directory: Path, bucket: str = "") -> None:
    """Run the Python, then the command line.

    Args:
        python: Interpreter of the environment, beside which the program `graveler` is.
        directory: Working directory of the reader.
        bucket: URL of a bucket that holds both the metadata and the data, instead of files.
    """
    text = (ROOT / "README.md").read_text()
    if bucket:
        for files in ("sqlite:///{directory}/meta.db", "file://{directory}"):
            assert text.count(files) == 1
            text = text.replace(files, bucket)
        text = text.replace(
            "graveler init tour", f"graveler init tour --store {bucket} --storage-namespace {bucket}/tour"
        )
    found = _BLOCK.findall(text)
    (code,) = [text for language, text in found if language == "python"]
    (shell,) = [text for language, text in found if language == "sh" and "graveler " in text]
    assert _run([str(python), "-c", code], python, directory).splitlines() == [
        "changed carriers/AA.json",
        "added carriers/UA.json",
        """b'{"name": "American"}'""",
        "['carriers/AA.json', 'carriers/UA.json']",
        """b'{"name": "American"}'""",
        "['Publish names', 'Full names', 'Add a carrier', 'Repository created']",
    ]
    session = _run(["bash", "-euo", "pipefail", "-c", shell], python, directory)
    assert "raw/now.txt" in session
    assert "\tPublish the time\n" in session


def run_sentences(python: Path, directory: Path) -> None:
    """Run the commands that stand in sentences: one reads what the demo has published, the other what the tour has.

    Args:
        python: Interpreter of an environment with pandas.
        directory: Directory in which the demo and the examples have run.
    """
    text = (ROOT / "README.md").read_text()
    (read,), (clone,) = _READ.findall(text), _CLONE.findall(text)
    program = f"import pandas as pd\nprint(len({read}))"
    assert int(_run([str(python), "-c", program], python, directory)) > 20_000
    _run(["bash", "-euc", clone], python, directory)
    assert (directory / clone.split()[-1] / "now.txt").read_text()


def _run(command: list[str], python: Path, directory: Path) -> str:
    path = f"{python.parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path}
    done = subprocess.run(
        command, cwd=directory, env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
