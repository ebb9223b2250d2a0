"""The import contracts of pyproject.toml catch what they forbid: each plant breaks its contract, and no other."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINTER: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
CONTRACTS: dict[str, dict[str, Any]] = {contract["id"]: contract for contract in LINTER["contracts"]}
TWO_SQLITES = ("adbc_driver_sqlite", "apsw", "connectorx", "duckdb", "pysqlite3")


@dataclass(frozen=True)
class Plant:
    """A statement written into a module, and the contract that must refuse it, naming `found`."""

    contract: str
    module: str
    statement: str
    found: str


PLANTS = [
    Plant("core-layers", "graveler_core.errors", "import graveler_core.model", "errors -> graveler_core.model"),
    Plant("core-layers", "graveler_core.telemetry", "import graveler_core.model", "telemetry -> graveler_core.model"),
    Plant("core-layers", "graveler_core.model", "from graveler_core.codec import x", "model -> graveler_core.codec"),
    Plant("core-layers", "graveler_core.codec", "import graveler_core.kv", "codec -> graveler_core.kv"),
    Plant("core-layers", "graveler_core.kv", "from graveler_core import blobs", "kv -> graveler_core.blobs"),
    Plant(
        "core-layers", "graveler_core.blobs", "from graveler_core.records import x", "blobs -> graveler_core.records"
    ),
    Plant("core-layers", "graveler_core.records", "from .. import segments", "records -> graveler_core.segments"),
    Plant("core-layers", "graveler_core.segments", "import graveler_core.objects", "segments -> graveler_core.objects"),
    Plant("core-layers", "graveler_core.objects", "import graveler_core.refs", "objects -> graveler_core.refs"),
    Plant("core-layers", "graveler_core.refs", "import graveler_core.committed", "refs -> graveler_core.committed"),
    Plant("core-layers", "graveler_core.staging", "import graveler_core.stores", "staging -> graveler_core.stores"),
    Plant(
        "core-layers",
        "graveler_core.stores",
        "def f():\n    import graveler_core.engine",
        "stores -> graveler_core.engine",
    ),
    Plant("core-layers", "graveler_core.engine", "import graveler_core.gc", "engine -> graveler_core.gc"),
    Plant("core-layers", "graveler_core.gc", "import graveler_core.diagnostics", "gc -> graveler_core.diagnostics"),
    Plant(
        "core-layers", "graveler_core.diagnostics", "import graveler_core.facade", "diagnostics -> graveler_core.facade"
    ),
    Plant("core-layers", "graveler_core.transfer", "import graveler_core.facade", "transfer -> graveler_core.facade"),
    Plant("core-layers", "graveler_core.facade", "import graveler_core.metrics", "facade -> graveler_core.metrics"),
    Plant("core-layers", "graveler_core.metrics", "import graveler_core.settings", "metrics -> graveler_core.settings"),
    Plant("core-layers", "graveler_core.settings", "import graveler_core.wiring", "settings -> graveler_core.wiring"),
    Plant("core-layers", "graveler_core.wiring", "import graveler_core.cli", "wiring -> graveler_core.cli"),
    Plant("core-layers", "graveler_core.cli", "import graveler_core.testing", "cli -> graveler_core.testing"),
    Plant("core-layers", "graveler_core.anything", "", "graveler_core.anything"),
    Plant("top-layers", "graveler_core.engine", "import jobs", "graveler_core.engine -> jobs"),
    Plant("top-layers", "jobs", "import sensors", "jobs -> sensors"),
    Plant("top-layers", "sensors", "import orchestration", "sensors -> orchestration"),
    Plant("top-layers", "orchestration", "import benchmarks", "orchestration -> benchmarks"),
    Plant("core-is-a-library", "graveler_core.engine", "import pyspark.sql", "graveler_core.engine -> pyspark"),
    Plant("core-is-a-library", "graveler_core.cli", "from dagster import job", "graveler_core.cli -> dagster"),
    Plant("core-is-a-library", "graveler_core.facade", "def f():\n    import pandas", "graveler_core.facade -> pandas"),
    Plant("jobs-without-dagster", "jobs", "import dagster", "jobs -> dagster"),
    Plant("sensors-are-light", "sensors", "from pyspark.sql import SparkSession", "sensors -> pyspark"),
    *(
        Plant("one-sqlite", "orchestration", f"import {library}", f"orchestration -> {library}")
        for library in TWO_SQLITES
    ),
    Plant(
        "testing-stays-out", "orchestration", "import graveler_core.testing", "orchestration -> graveler_core.testing"
    ),
    Plant("testing-stays-out", "graveler_core.facade", "import pytest", "graveler_core.facade -> pytest"),
]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """An empty project under our very configuration: every package that a layer names, and nothing in them."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    names = {name.strip(" ()") for layer in CONTRACTS["core-layers"]["layers"] for name in layer.split("|")}
    for module in [*LINTER["root_packages"], *(f"graveler_core.{name}" for name in sorted(names))]:
        write(tmp_path, module, "")
    return tmp_path


def write(tree: Path, module: str, statement: str) -> None:
    package = tree.joinpath(*module.split("."))
    package.mkdir(parents=True, exist_ok=True)
    (package / "__init__.py").write_text(statement + "\n", "utf-8")


def lint(tree: Path) -> tuple[set[str], str]:
    """Run import-linter on the tree.

    Returns: the ids of the broken contracts, and all that it printed.
    """
    ran = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=tree,
        env={**os.environ, "COLUMNS": "400"},
        capture_output=True,
        text=True,
        check=False,
    )
    printed = ran.stdout + ran.stderr
    judged = {id: contract for id, contract in CONTRACTS.items() if f"{contract['name']} KEPT" in printed}
    broken = {id for id, contract in CONTRACTS.items() if f"{contract['name']} BROKEN" in printed}
    assert judged.keys() | broken == CONTRACTS.keys(), printed
    assert (ran.returncode != 0) == bool(broken), printed
    return broken, printed


def test_an_empty_tree_keeps_every_contract(tree: Path) -> None:
    broken, printed = lint(tree)
    assert not broken, printed


def test_the_testing_package_may_use_what_tests_are_made_of(tree: Path) -> None:
    write(tree, "graveler_core.testing", "import pytest\nimport hypothesis\nimport graveler_core.kv")
    broken, printed = lint(tree)
    assert not broken, printed


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: f"{plant.contract}:{plant.found.replace(' ', '')}")
def test_a_planted_violation_is_caught(tree: Path, plant: Plant) -> None:
    write(tree, plant.module, plant.statement)
    broken, printed = lint(tree)
    assert broken == {plant.contract}, printed
    assert plant.found in printed


def test_every_contract_has_a_plant() -> None:
    assert {plant.contract for plant in PLANTS} == CONTRACTS.keys()


def test_every_sqlite_that_is_forbidden_was_planted() -> None:
    assert set(CONTRACTS["one-sqlite"]["forbidden_modules"]) == set(TWO_SQLITES)
    assert set(CONTRACTS["one-sqlite"]["source_modules"]) == set(LINTER["root_packages"])
