"""The guide to clusters, word by word: its first command starts one, and in that shell runs everything else."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.test_guides import blocks

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "guides" / "spark-cluster.md"


@pytest.mark.slow
@pytest.mark.xdist_group("cluster")
def test_the_guide_is_followed(tmp_path: Path) -> None:
    start, *submitted = blocks(GUIDE, "sh")
    (tmp_path / "jobs").symlink_to(ROOT / "jobs")
    (tmp_path / "guide.py").write_text("\n".join(blocks(GUIDE, "python")))
    shell = [f"{shlex.quote(sys.executable)} guide.py > printed", *submitted]
    (tmp_path / "shell").write_text("\n".join(shell))
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    command = [*shlex.split(start), "-eu", "shell"]
    ran = subprocess.run(
        command,
        cwd=tmp_path,
        env={**environment, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=1_800,
    )
    assert ran.returncode == 0, (ran.stdout, ran.stderr)
    assert (tmp_path / "printed").read_text() == "".join(blocks(GUIDE, "text"))
    documents = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith('{"verb"')]
    assert [document["verb"] for document in documents] == ["compact", "commit", "merge", "diff", "import"]
    assert {document["engine"] for document in documents} == {"spark"}
