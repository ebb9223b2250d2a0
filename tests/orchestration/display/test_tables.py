"""Small tables read without Spark."""

from __future__ import annotations

import io

import polars as pl

from graveler_core import connect
from orchestration.display.tables import read_small_table


def parquet(*values: int) -> bytes:
    buffer = io.BytesIO()
    pl.DataFrame({"n": values}).write_parquet(buffer)
    return buffer.getvalue()


def test_all_files_of_the_table_and_no_others_are_read() -> None:
    with connect("memory://") as graveler:
        main = (repo := graveler.create_repository("lake", "memory://lake", adopt=True, ephemeral=True)).branch("main")
        main.put("t/a/1.parquet", parquet(1, 2))
        main.put("t/b/1.parquet", parquet(3))
        main.put("t2/1.parquet", parquet(9))
        commit = main.commit("tables")
        assert read_small_table(repo.at(commit.id), "t")["n"].to_list() == [1, 2, 3]
        assert read_small_table(repo.at("main"), "none").is_empty()
