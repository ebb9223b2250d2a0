"""The cluster options of the command line: which need `--cluster`, and that no Spark is imported without it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from graveler_core.cli.app import run

COMMIT = ("commit", "graveler://lake/main", "-m", "One")


@pytest.mark.parametrize("option", [("--threshold", "1"), ("--rows-per-task", "1"), ("--start-cluster",)])
def test_settings_without_a_cluster_are_refused(option: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*COMMIT, *option]) == 1
    assert capsys.readouterr().err == f"error: {option[0]}: needs --cluster, as in --cluster spark\n"


def test_an_unknown_cluster_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*COMMIT, "--cluster", "flink"]) == 1
    assert capsys.readouterr().err == "error: no cluster has the name 'flink'; known are: spark\n"


def test_staging_files_needs_a_cluster(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["stage", "rows.parquet", "graveler://lake/main"]) == 1
    assert capsys.readouterr().err == "error: stage: needs --cluster, as in --cluster spark\n"


def test_spark_is_imported_with_the_option_alone() -> None:
    program = (
        "import sys\nfrom graveler_core.cli.app import run\n"
        "def loaded(): return [name in sys.modules for name in ('pyspark', 'dagster_pipes', 'graveler.spark')]\n"
        "commit = ['commit', 'graveler://lake/main', '-m', 'x', '--store', 'memory://']\n"
        "run(commit)\nprint(loaded())\nrun([*commit, '--cluster', 'spark'])\nprint(loaded())"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines() == [str([False] * 3), str([True] * 3)]
