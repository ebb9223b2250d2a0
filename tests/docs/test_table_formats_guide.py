"""The guide to Delta Lake and Iceberg tables, in an environment that also has their libraries."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.docs.test_guides import TABLES, blocks
from tests.servers.python_environment import python_with

ROOT = Path(__file__).parents[2]
DELTA, ICEBERG = "1.6.6", "0.12.0"


@pytest.mark.slow
def test_the_guide_for_table_formats_prints_what_it_shows(tmp_path: Path) -> None:
    assert f"delta-rs {DELTA} " in TABLES.read_text()
    assert f"| PyIceberg {ICEBERG} |" in TABLES.read_text()
    python = python_with(
        f"deltalake-{DELTA}-pyiceberg-{ICEBERG}", f"deltalake=={DELTA}", f"pyiceberg[pyarrow,sql-sqlite]=={ICEBERG}"
    )
    (tmp_path / "guide.py").write_text("\n".join(blocks(TABLES, "python")))
    variables = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join([str(ROOT), sysconfig.get_path("purelib")]),
    }
    done = subprocess.run(
        [python, "guide.py"],
        cwd=tmp_path,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-4_000:]
    assert done.stdout == "".join(blocks(TABLES, "text"))
