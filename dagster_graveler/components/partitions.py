"""Partitions of the tables of a lake, as `defs.yaml` describes them."""

from collections.abc import Sequence
from typing import Any, Literal

import dagster as dg
from pydantic import Field, model_validator

_TIME = ("hourly", "daily", "weekly", "monthly")
_NEEDS = {**dict.fromkeys(_TIME, "start"), "static": "keys", "dynamic": "name", "multi": "dimensions"}
_ALSO = dict.fromkeys(_TIME, ("end", "format", "timezone"))


class LakeDimension(dg.Resolvable, dg.Model):
    """One dimension of partitions: time windows, fixed keys, or keys that are added at run time."""

    type: Literal["hourly", "daily", "weekly", "monthly", "static", "dynamic"]
    start: str | None = Field(default=None, description="First time window, such as 2013-01-01.")
    end: str | None = Field(default=None, description="End of the last time window. Default: the current time.")
    format: str | None = Field(default=None, description="Format of the keys, `start` and `end`, such as %Y-%m.")
    timezone: str | None = Field(default=None, description="Time zone of the time windows. Default: UTC.")
    keys: Sequence[str] | None = Field(default=None, description="Keys of static partitions.")
    name: str | None = Field(default=None, description="Name of dynamic partitions.")
    dimension: str | None = Field(default=None, description="Name of the dimension, if the partitions have two.")

    @model_validator(mode="after")
    def _check_fields(self) -> "LakeDimension":
        needed = _NEEDS[self.type]
        if not getattr(self, needed):
            raise ValueError(f"{self.type} partitions need `{needed}`")
        given = {name for name in self.model_fields_set if getattr(self, name) is not None}
        others = sorted(given - {"type", "dimension", needed, *_ALSO.get(self.type, ())})
        if others:
            raise ValueError(f"{self.type} partitions take no `{others[0]}`")
        return self

    def definition(self) -> dg.PartitionsDefinition[Any]:
        """Return Dagster's definition of the partitions."""
        if self.type == "static":
            return dg.StaticPartitionsDefinition(list(self.keys or ()))
        if self.type == "dynamic":
            return dg.DynamicPartitionsDefinition(name=self.name)
        kind: Any = {
            "hourly": dg.HourlyPartitionsDefinition,
            "daily": dg.DailyPartitionsDefinition,
            "weekly": dg.WeeklyPartitionsDefinition,
            "monthly": dg.MonthlyPartitionsDefinition,
        }[self.type]
        given = {"start_date": self.start, "end_date": self.end, "fmt": self.format, "timezone": self.timezone}
        made: dg.PartitionsDefinition[Any] = kind(**{name: each for name, each in given.items() if each is not None})
        return made


class LakePartitions(LakeDimension):
    """Partitions of one dimension, or of two."""

    type: Literal["hourly", "daily", "weekly", "monthly", "static", "dynamic", "multi"]  # type: ignore[assignment]
    dimensions: Sequence[LakeDimension] | None = Field(default=None, description="The two dimensions of multi.")

    def definition(self) -> dg.PartitionsDefinition[Any]:
        """Return Dagster's definition of the partitions."""
        if self.type == "multi":
            dimensions = self.dimensions or ()
            return dg.MultiPartitionsDefinition({each.dimension or each.type: each.definition() for each in dimensions})
        return super().definition()
