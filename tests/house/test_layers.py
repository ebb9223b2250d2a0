"""The import contracts of pyproject.toml catch what they forbid: each plant breaks its contract, and no other."""

from __future__ import annotations

import json
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
TWO_SQLITES = ("adbc_driver_sqlite", "apsw", "connectorx", "pysqlite3")


@dataclass(frozen=True)
class Plant:
    """A statement written into a module, and the contract that must refuse it, naming `found`."""

    contract: str
    module: str
    statement: str
    found: str


PLANTS = [
    Plant("core-layers", "graveler_core.errors", "import graveler_core.model", "errors -> graveler_core.model"),
    Plant("core-layers", "graveler_core.extras", "import graveler_core.telemetry", "extras -> graveler_core.telemetry"),
    Plant("core-layers", "graveler_core.telemetry", "import graveler_core.model", "telemetry -> graveler_core.model"),
    Plant("core-layers", "graveler_core.model", "from graveler_core.codec import x", "model -> graveler_core.codec"),
    Plant("core-layers", "graveler_core.codec", "import graveler_core.kv", "codec -> graveler_core.kv"),
    Plant("core-layers", "graveler_core.blobs", "from graveler_core import kv", "blobs -> graveler_core.kv"),
    Plant("core-layers", "graveler_core.kv", "import graveler_core.records", "kv -> graveler_core.records"),
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
    Plant("core-layers", "graveler_core.engine", "import graveler_core.guard", "engine -> graveler_core.guard"),
    Plant("core-layers", "graveler_core.guard", "import graveler_core.facade", "guard -> graveler_core.facade"),
    Plant(
        "core-layers", "graveler_core.guard", "import graveler_core.diagnostics", "guard -> graveler_core.diagnostics"
    ),
    Plant("core-layers", "graveler_core.transfer", "import graveler_core.facade", "transfer -> graveler_core.facade"),
    Plant("core-layers", "graveler_core.facade", "import graveler_core.metrics", "facade -> graveler_core.metrics"),
    Plant("core-layers", "graveler_core.metrics", "import graveler_core.settings", "metrics -> graveler_core.settings"),
    Plant("core-layers", "graveler_core.settings", "import graveler_core.wiring", "settings -> graveler_core.wiring"),
    Plant("core-layers", "graveler_core.wiring", "import graveler_core.cli", "wiring -> graveler_core.cli"),
    Plant("core-layers", "graveler_core.cli", "import graveler_core.testing", "cli -> graveler_core.testing"),
    Plant("core-layers", "graveler_core.anything", "", "graveler_core.anything"),
    *(
        Plant(
            "engine-layers",
            f"graveler_core.engine.{lower}",
            f"from graveler_core.engine.{upper} import x",
            f"engine.{lower} -> graveler_core.engine.{upper}",
        )
        for lower, upper in [
            ("protocol", "reading"),
            ("reading", "staging"),
            ("staging", "building"),
            ("building", "compacting"),
            ("compacting", "committing"),
            ("committing", "merging"),
            ("merging", "importing"),
            ("importing", "references"),
            ("references", "repositories"),
            ("repositories", "cleaning"),
        ]
    ),
    Plant("engine-layers", "graveler_core.engine.anything", "", "graveler_core.engine.anything"),
    Plant("top-layers", "graveler_core.engine", "import graveler", "graveler_core.engine -> graveler"),
    Plant("top-layers", "graveler_core.engine", "import jobs", "graveler_core.engine -> jobs"),
    Plant("top-layers", "graveler", "import dagster_graveler", "graveler -> dagster_graveler"),
    Plant("top-layers", "dagster_graveler", "import jobs", "dagster_graveler -> jobs"),
    Plant("top-layers", "dagster_graveler", "import orchestration", "dagster_graveler -> orchestration"),
    Plant("top-layers", "jobs", "import sensors", "jobs -> sensors"),
    Plant("top-layers", "sensors", "import orchestration", "sensors -> orchestration"),
    Plant("top-layers", "orchestration", "import benchmarks", "orchestration -> benchmarks"),
    Plant("core-is-a-library", "graveler_core.engine", "import pyspark.sql", "graveler_core.engine -> pyspark"),
    Plant("core-is-a-library", "graveler_core.cli", "from dagster import job", "graveler_core.cli -> dagster"),
    Plant("core-is-a-library", "graveler_core.facade", "def f():\n    import pandas", "graveler_core.facade -> pandas"),
    Plant("cli-is-a-program", "graveler", "import graveler_core.cli", "graveler -> graveler_core.cli"),
    Plant("core-layers", "graveler_core.documents", "import graveler_core.cli", "documents -> graveler_core.cli"),
    Plant("spark-without-dagster", "graveler", "import dagster", "graveler -> dagster"),
    Plant("spark-without-dagster", "jobs", "import dagster", "jobs -> dagster"),
    *(
        Plant(
            "graveler-uses-the-facade",
            "graveler.spark",
            f"import graveler_core.{inner}",
            f"graveler.spark -> graveler_core.{inner}",
        )
        for inner in ("committed", "engine", "records", "refs", "staging")
    ),
    Plant("sensors-are-light", "sensors", "from pyspark.sql import SparkSession", "sensors -> pyspark"),
    Plant("sensors-are-light", "dagster_graveler.sensors", "import pandas", "dagster_graveler.sensors -> pandas"),
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
    layered = [
        f"{container}.{name.strip(' ()')}"
        for contract in CONTRACTS.values()
        for container in contract.get("containers", ())
        for layer in contract["layers"]
        for name in layer.split("|")
    ]
    for module in [*LINTER["root_packages"], "dagster_graveler.sensors", *layered]:
        package = tmp_path.joinpath(*module.split("."))
        package.mkdir(parents=True, exist_ok=True)
        (package / "__init__.py").touch()
    return tmp_path


LINT = """
import contextlib, io, json, pathlib, shutil, sys
from importlinter.cli import lint_imports
found = []
for files in json.load(sys.stdin):
    former = {path: path.read_text("utf-8") if path.exists() else None for path in map(pathlib.Path, files)}
    for path in former:
        path.parent.mkdir(exist_ok=True)
        path.write_text(files[str(path)], "utf-8")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        status = lint_imports(no_cache=True)
    found.append([status, printed.getvalue()])
    for path, text in former.items():
        if text is None:
            shutil.rmtree(path.parent)
        else:
            path.write_text(text, "utf-8")
print(json.dumps(found))
"""
"""Runs import-linter once for each set of files, and puts back what stood there: one interpreter for all sets."""


def lint(tree: Path, *plants: dict[str, str]) -> list[tuple[set[str], str]]:
    """Run import-linter on the tree, once with each set of statements in modules.

    Returns: for each run the ids of the broken contracts, and all that it printed.
    """
    files = [{f"{module.replace('.', '/')}/__init__.py": text for module, text in each.items()} for each in plants]
    ran = subprocess.run(
        [sys.executable, "-c", LINT],
        cwd=tree,
        env={**os.environ, "COLUMNS": "400"},
        input=json.dumps(files),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert len(found) == len(plants)
    return [(broken_contracts(status, printed), printed) for status, printed in found]


def broken_contracts(status: int, printed: str) -> set[str]:
    kept = {id for id, contract in CONTRACTS.items() if f"{contract['name']} KEPT" in printed}
    broken = {id for id, contract in CONTRACTS.items() if f"{contract['name']} BROKEN" in printed}
    assert kept | broken == CONTRACTS.keys(), printed
    assert not kept & broken, printed
    assert (status != 0) == bool(broken), printed
    return broken


def test_allowed_imports_keep_every_contract(tree: Path) -> None:
    """An empty tree, and the testing package with what tests are made of."""
    testing = {"graveler_core.testing": "import pytest\nimport hypothesis\nimport graveler_core.kv\n"}
    for broken, printed in lint(tree, {}, testing):
        assert not broken, printed


def test_planted_violations_are_caught(tree: Path) -> None:
    """Each plant breaks its contract, and no other."""
    found = lint(tree, *({plant.module: f"{plant.statement}\n"} for plant in PLANTS))
    for plant, (broken, printed) in zip(PLANTS, found, strict=True):
        assert broken == {plant.contract}, (plant, printed)
        assert plant.found in printed, (plant, printed)


def test_every_contract_has_a_plant() -> None:
    assert {plant.contract for plant in PLANTS} == CONTRACTS.keys()


def test_every_sqlite_that_is_forbidden_was_planted() -> None:
    assert set(CONTRACTS["one-sqlite"]["forbidden_modules"]) == set(TWO_SQLITES)
    assert set(CONTRACTS["one-sqlite"]["source_modules"]) == set(LINTER["root_packages"])
