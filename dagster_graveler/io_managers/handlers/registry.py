"""Handlers by type. A handler is imported when a value of its type is stored or loaded for the first time."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

import dagster as dg

from dagster_graveler.io_managers.handlers.port import Handler, type_names

HANDLERS = {
    "builtins.bytes": "content.BytesHandler",
    "builtins.str": "content.TextHandler",
    "duckdb.DuckDBPyRelation": "duckdb_relation.DuckDBHandler",
    "pandas.DataFrame": "pandas_frame.PandasHandler",
    "polars.DataFrame": "polars_frame.PolarsHandler",
    "polars.LazyFrame": "polars_frame.LazyPolarsHandler",
    "pyarrow.Dataset": "arrow.DatasetHandler",
    "pyarrow.RecordBatchReader": "arrow.ReaderHandler",
    "pyarrow.Table": "arrow.TableHandler",
    "pyspark.DataFrame": "spark_frame.SparkHandler",
}
"""Handlers by `library.Class`. Subclasses use the handler of their nearest base."""


def handler_for(found: Any, asset: str) -> Handler[Any]:
    """Return the handler of a type.

    Args:
        found: A class, or the name of a supported one, such as `polars.DataFrame`.
        asset: Asset key for error messages.

    Raises:
        DagsterInvalidDefinitionError: The type is not supported.
    """
    names = [found] if isinstance(found, str) else type_names(found)
    name = next((name for name in names if name in HANDLERS), None)
    if name is None:
        shown = names[0] if names else str(found)
        raise dg.DagsterInvalidDefinitionError(
            f"asset {asset}: type {shown} is not supported; supported are {', '.join(HANDLERS)}"
        )
    return _loaded(HANDLERS[name])


@cache
def _loaded(place: str) -> Handler[Any]:
    module, _, name = place.partition(".")
    made: Handler[Any] = getattr(import_module(f"dagster_graveler.io_managers.handlers.{module}"), name)()
    return made
