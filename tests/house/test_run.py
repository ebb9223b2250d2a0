"""The scripts that everything starts with."""

from __future__ import annotations

import os
import subprocess

import pytest

from tests.house.project import Project


@pytest.mark.parametrize("name", ["run", ".ci/run"])
def test_scripts_are_posix_shell_and_executable(project: Project, name: str) -> None:
    script = project.root / name
    assert script.read_text("utf-8").startswith("#!/bin/sh\n")
    assert os.access(script, os.X_OK)
    subprocess.run(["sh", "-n", script], check=True)


def test_run_stays_small(project: Project) -> None:
    assert len((project.root / "run").read_text("utf-8").splitlines()) < 100


def test_ci_checks_then_tests_and_nothing_else(project: Project) -> None:
    lines = (project.root / ".ci/run").read_text("utf-8").splitlines()
    steps = [line for line in lines if line and not line.startswith(("#", "set ", "cd "))]
    assert steps == ["./run check", "./run test --ci --ignore tests/house"]


def test_run_tells_what_it_can_do(project: Project) -> None:
    told = subprocess.run([project.root / "run"], capture_output=True, text=True, check=True).stdout
    for command in ("demo", "ui", "test", "check", "bench", "lock", "setup"):
        assert f"./run {command}" in told


def test_an_unknown_command_is_refused(project: Project) -> None:
    assert subprocess.run([project.root / "run", "dance"], capture_output=True, check=False).returncode == 2


def test_tests_that_read_the_project_share_a_worker(request: pytest.FixtureRequest, project: Project) -> None:
    """xdist puts the group into the node id. Without it every worker parses every file."""
    if request.config.getoption("loadgroup", default=False):
        assert request.node.nodeid.endswith("@project")
    assert request.node.get_closest_marker("xdist_group").args == ("project",)
