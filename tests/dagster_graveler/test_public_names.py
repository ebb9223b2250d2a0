"""Names of the package: all there, imported when they are used, and known to Dagster as a library."""

from __future__ import annotations

import subprocess
import sys

import pytest
from dagster_shared.libraries import DagsterLibraryRegistry

import dagster_graveler
from dagster_graveler.public_names import PUBLIC_NAMES


def test_each_name_is_defined_in_its_module() -> None:
    assert set(dagster_graveler.__all__) == {"__version__", *PUBLIC_NAMES}
    for name, module in PUBLIC_NAMES.items():
        assert getattr(dagster_graveler, name).__module__ == f"dagster_graveler.{module}"
    with pytest.raises(AttributeError, match="module 'dagster_graveler' has no attribute 'GravelerResorce'"):
        _ = dagster_graveler.GravelerResorce


def test_dagster_lists_the_library() -> None:
    assert DagsterLibraryRegistry.get()["dagster-graveler"] == dagster_graveler.__version__


def test_importing_the_package_warns_of_nothing_and_loads_nothing_heavy() -> None:
    code = (
        "import sys, dagster_graveler\n"
        "found = {'dagster', 'graveler_core', 'pandas', 'polars', 'pyarrow', 'pyspark', 'pytest'} & set(sys.modules)\n"
        "assert not found, found"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


@pytest.mark.parametrize("module", ["dagster_graveler", "dagster_graveler.resources.spark"])
def test_spark_resources_name_the_extra_that_they_need(module: str) -> None:
    code = (
        "import sys; sys.modules['dagster_pyspark'] = None\n"
        "from graveler_core.errors import Unavailable\n"
        f"try: from {module} import SparkGravelerResource\n"
        "except Unavailable as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "the module dagster_pyspark is not installed: pip install 'graveler[dagster-spark]'\n"
