"""Checks of the tables of a lake, as `defs.yaml` describes them. They see the whole table on the branch of the run."""

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import dagster as dg
from pydantic import Field, model_validator

from dagster_graveler.components.functions import LakeFunction, called

if TYPE_CHECKING:
    import polars as pl

    from dagster_graveler.io_managers.graveler import GravelerIOManager

_OTHER_KINDS = (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction)
_NEEDS = {
    "row_count": ("minimum", "maximum"),
    "not_null": ("columns",),
    "unique": ("columns",),
    "function": ("function",),
}


class LakeCheck(dg.Resolvable, dg.Model):
    """A check of one table."""

    type: Literal["row_count", "not_null", "unique", "function"]
    name: str = Field(default="", description="Name of the check. Default: the type, or the name of the function.")
    blocking: bool = Field(default=True, description="If true, a failure prevents publication.")
    description: str | None = None
    minimum: int | None = Field(default=None, description="Least number of rows.")
    maximum: int | None = Field(default=None, description="Greatest number of rows.")
    columns: Sequence[str] = Field(
        default=(), description="not_null: columns without missing values. unique: columns that identify a row."
    )
    function: LakeFunction | None = Field(
        default=None,
        description="Function with the table as its parameter. It returns true if the check passed, or an "
        "AssetCheckResult.",
    )

    @model_validator(mode="after")
    def _check_fields(self) -> "LakeCheck":
        needed = _NEEDS[self.type]
        if all(getattr(self, name) in (None, (), []) for name in needed):
            raise ValueError(f"check {self.type}: needs `{'` or `'.join(needed)}`")
        others = sorted(self.model_fields_set - {"type", "name", "blocking", "description", *needed})
        if others:
            raise ValueError(f"check {self.type}: takes no `{others[0]}`")
        return self

    @property
    def check_name(self) -> str:
        """Name of the check."""
        return self.name or (getattr(self.function, "__name__", "") if self.function is not None else self.type)

    def definition(self, table: dg.AssetKey, path: str, io_manager_key: str) -> dg.AssetChecksDefinition:
        """Return Dagster's definition of the check.

        Args:
            table: Key of the table.
            path: Path of the table in the repository.
            io_manager_key: Key of the IO manager of the table.
        """
        options: dict[str, Any] = {"asset": table, "name": self.check_name, "blocking": self.blocking}
        if self.function is not None:
            function, what = self.function, f"check {self.check_name} of {table.to_user_string()}"
            if any(kind(inspect.unwrap(function)) for kind in _OTHER_KINDS):
                raise dg.DagsterInvalidDefinitionError(
                    f"{what}: the function must return a bool or an AssetCheckResult; it is asynchronous or a generator"
                )

            def passed(*args: Any, **kwargs: Any) -> dg.AssetCheckResult:
                return _result(function(*args, **kwargs), what)

            return dg.asset_check(**options, description=self.description)(called(function, passed))

        def check(context: dg.AssetCheckExecutionContext) -> dg.AssetCheckResult:
            return self._measure(getattr(context.resources, io_manager_key), path)

        check.__name__ = self.check_name
        keys = {io_manager_key}
        described = self.description or self._rule
        return dg.asset_check(**options, description=described, required_resource_keys=keys)(check)

    @property
    def _rule(self) -> str:
        columns = ", ".join(self.columns)
        if self.type == "row_count":
            least = "" if self.minimum is None else f"at least {self.minimum:,}"
            most = "" if self.maximum is None else f"at most {self.maximum:,}"
            return f"The table has {' and '.join(filter(None, (least, most)))} rows."
        if self.type == "not_null":
            return f"No row lacks a value in: {columns}."
        return f"No two rows have equal values in: {columns}."

    def _measure(self, manager: "GravelerIOManager", path: str) -> dg.AssetCheckResult:
        import polars as pl

        rows: pl.LazyFrame = manager.load_table(path, pl.LazyFrame)
        if self.type == "row_count":
            count = _number(rows.select(pl.len()))
            passed = count >= (self.minimum or 0) and (self.maximum is None or count <= self.maximum)
            return dg.AssetCheckResult(passed=passed, metadata={"rows": count})
        if self.type == "not_null":
            counted = rows.select(pl.col(*self.columns).null_count()).collect()
            missing = {name: int(count) for name, count in counted.row(0, named=True).items()}
            return dg.AssetCheckResult(passed=not any(missing.values()), metadata={"missing values": missing})
        size = "_".join((*self.columns, "size"))  # longer than the name of each column, so it is none of them
        groups = rows.group_by(*self.columns).agg(pl.len().alias(size))
        repeated = _number(groups.filter(pl.col(size) > 1).select(pl.len()))
        return dg.AssetCheckResult(passed=repeated == 0, metadata={"repeated keys": repeated})


def _result(value: Any, what: str) -> dg.AssetCheckResult:
    """Return the result of a function as Dagster's. A value of any other type would pass if it is not empty."""
    if isinstance(value, dg.AssetCheckResult):
        return value
    is_numpy = getattr(getattr(value, "dtype", None), "kind", "") == "b" and getattr(value, "ndim", None) == 0
    if not isinstance(value, bool) and not is_numpy:
        raise dg.DagsterInvariantViolationError(
            f"{what}: the function must return a bool or an AssetCheckResult, but returned {type(value).__name__}"
        )
    return dg.AssetCheckResult(passed=bool(value))


def _number(one: "pl.LazyFrame") -> int:
    return int(one.collect().item())
