"""The wheel: what is in it, and that it works beside a project with folders `jobs`, `sensors` and `orchestration`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs import readme
from tests.packaging.distributions import Wheel, install, size

ROOT = Path(__file__).parents[2]
FOLDERS = ("jobs", "orchestration", "sensors")
OWN = "".join(f"import {name}; assert {name}.OWN\n" for name in FOLDERS)
COMMIT = """
import graveler
from pathlib import Path

g = graveler.connect("sqlite:///meta.db")
main = g.create_repository("lake", (Path.cwd() / "lake").as_uri()).branch("main")
main.put("a", b"content")
main.commit("First")
"""
MISSING = """
try:
    graveler.connect("postgresql://localhost/none")
except graveler_core.errors.Unavailable as error:
    print(error.message)
"""
ON_SPARK = """
from pyspark.sql import SparkSession
from graveler.spark.cluster import SparkCluster
from graveler.spark.connection import Connection
from graveler.spark.session import local_settings, pin_worker_interpreter
from graveler.spark.source import register

pin_worker_interpreter()
builder = SparkSession.builder
for name, value in local_settings().items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
register(spark)
connection = Connection("sqlite:///meta.db")
with connection.connect(SparkCluster(spark, connection, rows_per_task=1, threshold=1)) as opened:
    main = opened.repository("lake").branch("main")
    main.put("b", b"more")
    main.put("c", b"more")
    main.commit("Second")
frame = spark.read.format("graveler").option("store", connection.url).option("repository", "lake").load()
print(sorted(row.path for row in frame.collect()))
spark.stop()
"""
IN_DAGSTER = """
import dagster as dg
from dagster_graveler.jobs.compaction import make_compaction_job
from dagster_graveler.jobs.versioning import make_versioning_jobs
from dagster_graveler.resources.graveler import GravelerResource
from dagster_graveler.sensors.compaction import make_compaction_sensor

main.put("b", b"more")
resource = GravelerResource(url="sqlite:///meta.db")
jobs = make_versioning_jobs(resource, "lake")
compaction = make_compaction_job(resource)
sensor = make_compaction_sensor(compaction)
dg.Definitions.validate_loadable(
    dg.Definitions(jobs=[*jobs, compaction], sensors=[sensor], resources={"graveler": resource})
)
commit = next(job for job in jobs if job.name == "commit_job")
asked = {"repository": "lake", "branch": "main", "message": "Second"}
commit.execute_in_process(run_config={"ops": {"commit": {"config": asked}}})
print([commit.message for commit in g.repository("lake").log("main", limit=2)])
"""
BY_ENTRY_POINTS = """
import fsspec

with fsspec.open("graveler://lake/main/a", store="sqlite:///meta.db") as file:
    print(file.read())
"""
IN_PLUGINS = """
from importlib.metadata import entry_points
from upath import UPath

(module,) = entry_points(group="dagster_dg_cli.registry_modules", name="dagster_graveler")
print(module.load().__all__)
print(UPath("graveler://lake/main/a", store="sqlite:///meta.db").read_bytes())
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Wheel:
    directory = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(directory)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (built,) = directory.glob("*.whl")
    return Wheel(built)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with folders of its own that are called as those of this checkout."""
    for name in FOLDERS:
        (tmp_path / "project" / name).mkdir(parents=True)
        (tmp_path / "project" / name / "__init__.py").write_text("OWN = True\n")
    return tmp_path / "project"


def run(python: Path, project: Path, program: str) -> str:
    (project / "program.py").write_text(program)
    ran = subprocess.run([python, "program.py"], cwd=project, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_the_wheel_holds_the_packages_alone(wheel: Wheel) -> None:
    tops = {name.partition("/")[0] for name in wheel.names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"dagster_graveler", "graveler", "graveler_core"}
    assert {f"{top}/py.typed" for top in tops if not top.endswith(".dist-info")} <= set(wheel.names)


def test_the_library_needs_few_distributions(wheel: Wheel) -> None:
    needed = wheel.closure()
    assert len(needed) <= 15, sorted(needed)
    assert not needed.keys() & {"dagster", "pyspark", "rich", "sqlalchemy", "typer"}
    assert sum(map(size, needed.values())) < 250 * 2**20


def test_the_library(wheel: Wheel, project: Path, tmp_path: Path) -> None:
    python = install(wheel, tmp_path / "environment")
    said = run(python, project, f"{OWN}{COMMIT}\nimport graveler_core.errors\nprint(main.read('a')){MISSING}")
    read, missing = said.splitlines()
    assert read == "b'content'"
    assert missing == "the module psycopg is not installed: pip install 'graveler[postgres]'"
    program = [python, "-c", "from graveler_core.cli.startup import main; main()"]
    ran = subprocess.run(program, cwd=project, capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert ran.stderr == "error: the module typer is not installed: pip install 'graveler[cli]'\n"


@pytest.mark.ci
def test_the_command_line(wheel: Wheel, project: Path, tmp_path: Path) -> None:
    python = install(wheel, tmp_path / "environment", "cli")
    run(python, project, f"{OWN}{COMMIT}")
    program = [python, "-c", "from graveler_core.cli.startup import main; main()", "--store", "sqlite:///meta.db"]
    ran = subprocess.run(
        [*program, "ls", "graveler://lake/main/"], cwd=project, capture_output=True, text=True, check=True
    )
    assert ran.stdout.split()[-1].endswith("a")


@pytest.mark.ci
def test_the_file_system(wheel: Wheel, project: Path, tmp_path: Path) -> None:
    python = install(wheel, tmp_path / "environment", "fs")
    assert run(python, project, f"{OWN}{COMMIT}{BY_ENTRY_POINTS}") == "b'content'\n"


@pytest.mark.ci
def test_the_readme(wheel: Wheel, tmp_path: Path) -> None:
    """The install line of the README gives what its examples need, in a directory where nothing is."""
    python = install(wheel, tmp_path / "environment", *readme.extras())
    reader = tmp_path / "reader"
    reader.mkdir()
    for _ in range(2):
        readme.run_examples(python, reader)


@pytest.mark.ci
def test_dagster(wheel: Wheel, project: Path, tmp_path: Path) -> None:
    python = install(wheel, tmp_path / "environment", "dagster")
    said = run(python, project, f"{OWN}{COMMIT}{IN_DAGSTER}{IN_PLUGINS}")
    assert said.splitlines() == ["['Second', 'First']", "['GravelerLakeComponent']", "b'content'"]


@pytest.mark.ci
def test_spark(wheel: Wheel, project: Path, tmp_path: Path) -> None:
    python = install(wheel, tmp_path / "environment", "spark")
    assert run(python, project, f"{OWN}{COMMIT}{ON_SPARK}") == "['a', 'b', 'c']\n"
