"""Spark schemas for the Dagster UI."""

from __future__ import annotations

import dagster as dg
from pyspark.sql.types import StructType


def column_schema(schema: StructType) -> dg.TableSchema:
    """Return names, types and nullability of the columns of a DataFrame."""
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
