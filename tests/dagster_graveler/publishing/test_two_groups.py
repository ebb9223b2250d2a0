"""Two groups in one code location, each with a repository of its own, whose tables come in one run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from dagster_graveler import GravelerBranch, GravelerIOManager, GravelerResource, publish_in_order
from dagster_graveler.run_tags import BRANCH_TAG
from graveler_core import connect
from graveler_core.facade.branch import Branch
from tests.dagster_graveler.publishing import shop
from tests.dagster_graveler.publishing.shop import TABLES
from tests.dagster_graveler.publishing.test_publish_in_order import ASSETS, Shop

PUBLISH = {name: dg.AssetKey([name, "main", "publish"]) for name in TABLES}


class Untold(GravelerBranch):
    """A branch whose IO manager does not tell the table that it writes."""

    def open_for_writing(self, table: dg.AssetKey | None = None) -> Branch:
        return super().open_for_writing()


def two_groups(directory: Path, kind: type[GravelerBranch] = GravelerBranch) -> dg.Definitions:
    """Return the pipeline on a store."""
    graveler, storage = GravelerResource(url=f"sqlite:///{directory / 'meta.db'}"), (directory / "data").as_uri()
    branches = {name: kind(graveler=graveler, repository=name, storage_root=storage) for name in TABLES}
    managers = {f"{name}_files": GravelerIOManager(branch=branches[name]) for name in TABLES}
    return dg.Definitions.merge(
        *(publish_in_order(targets=[shop.target(name)]) for name in TABLES),
        dg.Definitions(resources={**branches, **managers}, executor=dg.in_process_executor),
    )


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Shop]:
    with dg.DagsterInstance.ephemeral() as instance, connect(f"sqlite:///{tmp_path / 'meta.db'}") as graveler:
        found = Shop(tmp_path, instance, graveler)
        found.definitions = two_groups(tmp_path)
        yield found
    shop.DELIVERED.clear()


@pytest.mark.parametrize("kind", [GravelerBranch, Untold])
def test_the_sensor_of_each_group_publishes_its_tables(made: Shop, tmp_path: Path, kind: type[GravelerBranch]) -> None:
    made.definitions = two_groups(tmp_path, kind)
    assert made.run(*ASSETS).success
    for name in TABLES:
        (request,) = made.tick(name).run_requests or ()
        assert made.run(*(request.asset_selection or ()), tags=dict(request.tags)).success
    assert made.published() == {"customers": "good", "orders": "good"}
    assert made.branches() == {"customers": [], "orders": []}


def test_a_refusal_concerns_one_group_and_can_be_repaired(made: Shop) -> None:
    assert not made.run(*ASSETS, *PUBLISH.values(), orders="bad").success
    assert made.published() == {"customers": "good"}
    (event,) = made.tick("orders").asset_events
    assert "check good of all_orders: failed" in str(event.description)
    assert made.run("all_orders").success  # joins the branch that was kept
    assert made.run(PUBLISH["orders"]).success
    assert made.published() == {"customers": "good", "orders": "good"}
    assert made.branches() == {"customers": [], "orders": []}


def test_a_run_over_parts_of_both_groups_joins_the_branch_of_each(made: Shop) -> None:
    assert made.run("all_customers").success
    assert made.run("all_orders").success
    kept = made.branches()
    assert made.run(*ASSETS, customers="new", orders="new").success
    assert made.branches() == kept
    assert made.run(PUBLISH["customers"]).success
    assert made.run(PUBLISH["orders"]).success
    assert made.published() == {"customers": "new", "orders": "new"}
    assert made.branches() == {"customers": [], "orders": []}


def test_a_run_does_not_join_a_branch_of_the_other_group(made: Shop) -> None:
    assert made.run(*ASSETS).success
    branch: GravelerBranch = (made.definitions.resources or {})["customers"]

    @dg.asset(deps=["all_orders"])
    def reader(customers: GravelerBranch) -> str:
        return customers.open_for_reading().ref

    assert branch.repository == "customers"
    made.definitions = dg.Definitions.merge(made.definitions, dg.Definitions(assets=[reader]))
    assert made.run("all_orders", "reader").success
    newest = made.instance.get_runs(limit=1)[0]
    assert newest.tags[BRANCH_TAG] in made.branches()["orders"]
    assert f"{BRANCH_TAG}.customers" not in newest.tags


def test_a_run_tag_for_the_published_branch_is_refused_only_for_tables_of_a_group(made: Shop) -> None:
    @dg.asset(io_manager_key="orders_files")
    def notes() -> str:
        return "no group has this table"

    made.definitions = dg.Definitions.merge(made.definitions, dg.Definitions(assets=[notes]))
    result = made.run("all_orders", "notes", tags={BRANCH_TAG: "main"})
    assert [event.step_key for event in result.filter_events(lambda event: event.is_step_failure)] == ["all_orders"]
    staged = made.repository("orders").branch("main").uncommitted()
    assert [change.path for change in staged] == ["notes/content"]
