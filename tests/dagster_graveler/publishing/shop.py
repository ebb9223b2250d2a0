"""Two repositories that one publish asset publishes: `customers` first, then `orders`.

A table delivers the lines of `DELIVERED`. A line "bad" fails the check of its table.
"""

from typing import Any

import dagster as dg

from dagster_graveler import GravelerBranch, GravelerIOManager, GravelerResource, PublishTarget, publish_in_order

PUBLICATION = dg.AssetKey("shop")
PUBLISH = dg.AssetKey(["shop", "publish"])
TABLES = ("customers", "orders")
DELIVERED: dict[str, str] = {}


def shop(url: Any, storage: Any, **options: Any) -> dg.Definitions:
    """Return the pipeline on a store."""
    graveler = GravelerResource(url=url)
    branches = {
        name: GravelerBranch(graveler=graveler, repository=name, storage_root=storage, branch=f"{name}-{{run}}")
        for name in TABLES
    }
    managers = {f"{name}_files": GravelerIOManager(branch=branches[name]) for name in TABLES}
    publication = publish_in_order(
        targets=[target(name) for name in TABLES], key=PUBLICATION, job="shop_job", **options
    )
    resources = {"graveler": graveler, **branches, **managers}
    return dg.Definitions.merge(publication, dg.Definitions(resources=resources, executor=dg.in_process_executor))


def target(name: str) -> PublishTarget:
    """Return the target of one repository, with one table of the same name."""

    @dg.asset(name=f"all_{name}", io_manager_key=f"{name}_files", group_name="shop")
    def table() -> str:
        return DELIVERED.get(name, "good")

    @dg.asset_check(asset=table, blocking=True, required_resource_keys={f"{name}_files"})
    def good(context: dg.AssetCheckExecutionContext) -> dg.AssetCheckResult:
        files: GravelerIOManager = getattr(context.resources, f"{name}_files")
        return dg.AssetCheckResult(passed=files.load_table(f"all_{name}", str) != "bad")

    return PublishTarget(key=[name, "main"], tables=[table], checks=[good], branch=name)
