"""Schemas as Dagster shows them."""

from __future__ import annotations

from pyspark.sql.types import IntegerType, MapType, StringType, StructField, StructType

from dagster_graveler.display.schema import column_schema


def test_columns_keep_name_type_and_nullability() -> None:
    tags = StructField("tags", MapType(StringType(), StringType()))
    shown = column_schema(StructType([StructField("id", IntegerType(), nullable=False), tags]))
    assert [(c.name, c.type, c.constraints.nullable) for c in shown.columns] == [
        ("id", "int", False),
        ("tags", "map<string,string>", True),
    ]
