"""Tests of shipping the package to machines without it: as an archive, or as the package alone."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import tarfile
import venv
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from zipfile import ZipFile

import pytest

from benchmarks.standalone import Machines, Standalone, standalone
from tests.graveler.spark.cluster.conftest import ROOT, Drivers
from tests.graveler.spark.cluster.lakes import Lake, wrong

pytestmark = [pytest.mark.xdist_group("cluster"), pytest.mark.slow]


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    """A machine that knows nothing of the project."""
    with standalone(tmp_path_factory.mktemp("bare") / "spark", Machines(1, 2), {"PYTHONPATH": ""}) as running:
        yield running


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as it is distributed."""
    directory = tmp_path_factory.mktemp("wheel")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", directory], cwd=ROOT, check=True)
    (made,) = directory.glob("*.whl")
    return made


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """An environment with all that is installed here, but the project."""
    made = tmp_path / "environment"
    venv.create(made, symlinks=True)
    (site,) = made.glob("lib/python*/site-packages")
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if "graveler" not in entry.name:
            (site / entry.name).symlink_to(entry)
    return made


def commits(lake: Lake, drivers: Drivers, cluster: Standalone, python: str, **settings: str) -> None:
    drivers.orders = replace(drivers.orders, master=cluster.url)
    drivers.environment["PYSPARK_PYTHON"] = python
    lake.begun().staged()
    assert drivers.start("commit", settings=settings, marked=False).ended()["engine"] == "spark"
    assert not list(wrong(lake.expected("commit")))


def test_without_it(lake: Lake, drivers: Drivers, bare: Standalone, environment: Path) -> None:
    with pytest.raises(AssertionError, match="Spark's workers do not have the package graveler"):
        commits(lake, drivers, bare, str(environment / "bin" / "python"))


def test_the_package_alone(lake: Lake, drivers: Drivers, bare: Standalone, environment: Path, wheel: Path) -> None:
    zipped = wheel.rename(wheel.with_suffix(".zip"))
    files = {"spark.submit.pyFiles": str(zipped)}
    commits(lake, drivers, bare, str(environment / "bin" / "python"), **files)
    zipped.rename(wheel)


def test_an_archive(lake: Lake, drivers: Drivers, bare: Standalone, environment: Path, wheel: Path) -> None:
    (site,) = environment.glob("lib/python*/site-packages")
    with ZipFile(wheel) as package:
        package.extractall(site)
    archive = environment.with_suffix(".tar.gz")
    with tarfile.open(archive, "w:gz") as file:
        file.add(environment, ".")
    commits(lake, drivers, bare, "./environment/bin/python", **{"spark.archives": f"{archive}#environment"})
