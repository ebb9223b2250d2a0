"""A Spark schema as Dagster shows it."""

from __future__ import annotations

import dagster as dg
from pyspark.sql.types import StructType


def column_schema(schema: StructType) -> dg.TableSchema:
    """Names, types and nullability of a DataFrame's columns."""
    return dg.TableSchema(
        columns=[
            dg.TableColumn(
                name=field.name,
                type=field.dataType.simpleString(),
                constraints=dg.TableColumnConstraints(nullable=field.nullable),
            )
            for field in schema.fields
        ]
    )
