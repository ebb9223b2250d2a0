"""Scaffolder of a lake: writes a `defs.yaml`, and a module with two tables to begin with."""

from typing import Any

import dagster as dg
from dagster.components import scaffold_component

_TABLES = '''\
"""Tables of the lake. Each function returns one, as a DataFrame of polars, pandas or another library."""

import polars as pl


def orders() -> pl.DataFrame:
    """Orders, as they were delivered."""
    return pl.DataFrame({"id": [1, 2, 3], "customer": ["ann", "bob", "ann"], "amount": [12.5, 8.0, 30.25]})


def customers(orders: pl.DataFrame) -> pl.DataFrame:
    """Amount of all orders of each customer."""
    return orders.group_by("customer").agg(pl.col("amount").sum()).sort("customer")
'''

_COMMENTS = """\
  # executor: multiprocess  # a process for each step. Default: the executor of the project
  # maintenance:
  #   delete_content: true  # delete content that nothing needs. Default: only report it
"""
"""Further attributes, which a reader of the file may turn on."""


class LakeScaffoldParams(dg.Model):
    """Options of `dg scaffold defs`."""

    repository: str = "lake"
    store_env: str = "GRAVELER_STORE"
    storage_root: str = "{{ env.GRAVELER_DATA }}"


class LakeScaffolder(dg.Scaffolder[LakeScaffoldParams]):
    """Scaffolder of `GravelerLakeComponent`."""

    @classmethod
    def get_scaffold_params(cls) -> type[LakeScaffoldParams]:
        """Return the model of the options."""
        return LakeScaffoldParams

    def scaffold(self, request: dg.ScaffoldRequest[LakeScaffoldParams]) -> None:
        """Write the files.

        Args:
            request: Options, and the folder of the component.
        """
        tables: list[dict[str, Any]] = [
            {
                "asset": {"key": "orders"},
                "function": ".tables.orders",
                "checks": [{"type": "row_count", "minimum": 1}, {"type": "unique", "columns": ["id"]}],
            },
            {
                "asset": {"key": "customers"},
                "function": ".tables.customers",
                "checks": [{"type": "not_null", "columns": ["customer", "amount"]}],
            },
        ]
        scaffold_component(request, {**request.params.model_dump(), "tables": tables})
        file = request.target_path / "defs.yaml"
        if file.exists():  # not if the component is written in Python
            file.write_text(file.read_text() + _COMMENTS)
        (request.target_path / "tables.py").write_text(_TABLES)
