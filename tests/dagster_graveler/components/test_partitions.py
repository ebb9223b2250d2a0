"""Partitions of `defs.yaml`: each kind, and fields that do not fit."""

from typing import Any

import dagster as dg
import pytest

from dagster_graveler.components.partitions import LakePartitions

DAYS = dg.DailyPartitionsDefinition("2013-01-01", end_date="2013-02-01", timezone="Europe/Berlin")
DAILY = {"type": "daily", "start": "2013-01-01", "end": "2013-02-01", "timezone": "Europe/Berlin"}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (DAILY, DAYS),
        ({"type": "hourly", "start": "2013-01-01-00:00"}, dg.HourlyPartitionsDefinition("2013-01-01-00:00")),
        ({"type": "weekly", "start": "2013-01-06"}, dg.WeeklyPartitionsDefinition("2013-01-06")),
        (
            {"type": "monthly", "start": "2013-01", "format": "%Y-%m"},
            dg.MonthlyPartitionsDefinition("2013-01", fmt="%Y-%m"),
        ),
        ({"type": "static", "keys": ["a", "b"]}, dg.StaticPartitionsDefinition(["a", "b"])),
        ({"type": "dynamic", "name": "shops"}, dg.DynamicPartitionsDefinition(name="shops")),
        (
            {
                "type": "multi",
                "dimensions": [{**DAILY, "dimension": "day"}, {"type": "static", "keys": ["a"], "dimension": "shop"}],
            },
            dg.MultiPartitionsDefinition({"day": DAYS, "shop": dg.StaticPartitionsDefinition(["a"])}),
        ),
    ],
    ids=lambda value: value["type"] if isinstance(value, dict) else "",
)
def test_each_kind_of_partitions(fields: dict[str, Any], expected: dg.PartitionsDefinition[Any]) -> None:
    assert LakePartitions(**fields).definition() == expected


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"type": "daily"}, "daily partitions need `start`"),
        ({"type": "static", "keys": []}, "static partitions need `keys`"),
        ({"type": "multi"}, "multi partitions need `dimensions`"),
        ({"type": "dynamic", "name": "shops", "start": "2013-01-01"}, "dynamic partitions take no `start`"),
    ],
)
def test_fields_that_do_not_fit_are_named(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LakePartitions(**fields)
