"""Code references of the tables of a lake: they lead to the functions of the author."""

import inspect
from pathlib import Path

import dagster as dg
import pytest

from tests.dagster_graveler.components import lake_functions
from tests.dagster_graveler.components.test_lake import lake

ROOT = Path(__file__).parents[3]


@pytest.mark.filterwarnings("ignore::dagster_shared.utils.warnings.BetaWarning")
def test_the_tables_of_a_component_lead_to_their_functions(tmp_path: Path) -> None:
    defs = lake(tmp_path, maintenance=False)
    tables = {dg.AssetKey("orders"): lake_functions.orders, dg.AssetKey(["shop", "totals"]): lake_functions.totals}
    linked = dg.link_code_references_to_git(
        [table for table in defs.assets or () if isinstance(table, dg.AssetsDefinition) and table.keys & tables.keys()],
        git_url="https://github.com/shop/lake",
        git_branch="main",
        file_path_mapping=dg.AnchorBasedFilePathMapping(local_file_anchor=ROOT, file_anchor_path_in_repository=""),
    )
    assert len(linked) == len(tables)
    for table in linked:
        assert isinstance(table, dg.AssetsDefinition)
        (reference,) = table.metadata_by_key[table.key]["dagster/code_references"].code_references
        line = inspect.getsourcelines(tables[table.key])[1]
        place = "tests/dagster_graveler/components/lake_functions.py"
        assert reference.url == f"https://github.com/shop/lake/tree/main/{place}#L{line}"
