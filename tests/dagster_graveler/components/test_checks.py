"""Checks of `defs.yaml`: what each accepts and refuses, and fields that do not fit."""

from pathlib import Path
from typing import Any

import dagster as dg
import polars as pl
import pytest

from dagster_graveler.components.checks import LakeCheck
from graveler_core.facade.graveler import Graveler
from tests.dagster_graveler.components import lake_functions
from tests.dagster_graveler.components.test_lake import HERE, ORDERS, lake, publish, store  # noqa: F401

CASES: dict[str, tuple[dict[str, Any], list[int | None], bool]] = {
    "enough rows": ({"type": "row_count", "minimum": 2}, [1, 2], True),
    "too few rows": ({"type": "row_count", "minimum": 3}, [1, 2], False),
    "too many rows": ({"type": "row_count", "maximum": 1}, [1, 2], False),
    "no rows are enough": ({"type": "row_count", "maximum": 1}, [], True),
    "no missing value": ({"type": "not_null", "columns": ["id"]}, [1, 2], True),
    "a missing value": ({"type": "not_null", "columns": ["id"]}, [1, None], False),
    "different keys": ({"type": "unique", "columns": ["id"]}, [1, 2], True),
    "equal keys": ({"type": "unique", "columns": ["id"]}, [1, 1], False),
    "two missing keys are equal": ({"type": "unique", "columns": ["id"]}, [None, None], False),
    "a true result": ({"type": "function", "function": f"{HERE}.few"}, [1], True),
    "a false result": ({"type": "function", "function": f"{HERE}.few"}, [1, 2, 3, 4, 5], False),
    "a true value of NumPy": ({"type": "function", "function": f"{HERE}.numpy_few"}, [1], True),
    "a false value of NumPy": ({"type": "function", "function": f"{HERE}.numpy_few"}, [1] * 5, False),
    "a result of Dagster": ({"type": "function", "function": f"{HERE}.measured"}, [1], True),
}


@pytest.mark.ci
@pytest.mark.parametrize(("check", "rows", "passed"), CASES.values(), ids=CASES)
def test_a_check_passes_or_fails(
    tmp_path: Path,
    store: Graveler,  # noqa: F811
    check: dict[str, Any],
    rows: list[int | None],
    passed: bool,
) -> None:
    lake_functions.ROWS["orders"] = rows
    with dg.DagsterInstance.ephemeral() as instance:
        result = publish(lake(tmp_path, {**ORDERS, "checks": [check]}, maintenance=False), instance=instance)
        written = instance.get_latest_materialization_event(dg.AssetKey("orders"))
    (evaluation,) = result.get_asset_check_evaluations()
    assert written is not None
    assert written.asset_materialization is not None
    for key in ("graveler/branch", "graveler/content"):
        assert evaluation.metadata[key] == written.asset_materialization.metadata[key]
    assert evaluation.passed == passed
    assert result.success == passed


def test_a_check_without_blocking_publishes_all_the_same(tmp_path: Path, store: Graveler) -> None:  # noqa: F811
    lake_functions.ROWS["orders"] = [1, 1]
    check = {"type": "unique", "columns": ["id"], "blocking": False, "name": "ids", "description": "Ids are unique."}
    defs = lake(tmp_path, {**ORDERS, "checks": [check]}, maintenance=False)
    with dg.DagsterInstance.ephemeral() as instance:
        result = publish(defs, instance=instance)
    assert [(each.check_name, each.passed) for each in result.get_asset_check_evaluations()] == [("ids", False)]
    assert result.success


def test_another_result_of_a_function_is_refused(tmp_path: Path, store: Graveler) -> None:  # noqa: F811
    check = {"type": "function", "function": f"{HERE}.lines"}
    defs = lake(tmp_path, {**ORDERS, "checks": [check]}, maintenance=False)
    with dg.DagsterInstance.ephemeral() as instance:
        result = publish(defs, instance=instance)
    assert not result.success
    failed = [event.step_failure_data.error for event in result.filter_events(lambda event: event.is_step_failure)]
    assert "must return a bool or an AssetCheckResult, but returned list" in str(failed)


@pytest.mark.parametrize("function", ["later", "generated"])
def test_a_function_that_returns_its_result_later_is_refused(tmp_path: Path, function: str) -> None:
    check = {"type": "function", "function": f"{HERE}.{function}"}
    with pytest.raises(dg.DagsterInvalidDefinitionError, match=f"check {function} of orders: the function must return"):
        lake(tmp_path, {**ORDERS, "checks": [check]})


def test_a_column_may_have_the_name_of_a_count() -> None:
    class Rows:
        def load_table(self, path: str, as_type: Any) -> pl.LazyFrame:
            return pl.LazyFrame({"len": [1, 1, 2], "len_size": [3, 3, 4]})

    for columns in (["len"], ["len", "len_size"]):
        result = LakeCheck(type="unique", columns=columns)._measure(Rows(), "t")  # type: ignore[arg-type]
        assert {name: value.value for name, value in result.metadata.items()} == {"repeated keys": 1}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"type": "row_count"}, "check row_count: needs `minimum` or `maximum`"),
        ({"type": "unique"}, "check unique: needs `columns`"),
        ({"type": "function"}, "check function: needs `function`"),
        ({"type": "not_null", "columns": ["id"], "minimum": 1}, "check not_null: takes no `minimum`"),
    ],
)
def test_fields_that_do_not_fit_are_named(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LakeCheck(**fields)
