"""Definitions that `write_audit_publish` refuses, and the shape of those that it makes."""

from typing import Any

import dagster as dg
import pytest

from dagster_graveler import PublishTarget, publish_in_order, write_audit_publish
from dagster_graveler.beta import beta_accepted
from tests.dagster_graveler.publishing.small_lake import MONTHS, PUBLISH, TABLES, lake


def table(name: str | list[str], **options: Any) -> dg.AssetsDefinition:
    with beta_accepted():

        @dg.asset(key=name, **options)
        def made() -> None:
            """Deliver nothing."""

    return made


def test_the_publish_asset_depends_on_all_tables_and_has_their_partitions_and_backfill_policy() -> None:
    graph = lake("memory://", "memory://lake").resolve_asset_graph()
    node = graph.get(PUBLISH)
    assert node.parent_keys == {dg.AssetKey(name) for name in TABLES}
    assert node.partitions_def == MONTHS
    assert node.backfill_policy == dg.BackfillPolicy.single_run()


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        ([], "flights/main: tables must not be empty"),
        ([table("a", partitions_def=MONTHS), table("b")], "must have equal partitions definitions"),
        (
            [
                table("a", partitions_def=MONTHS),
                table("b", partitions_def=MONTHS, backfill_policy=dg.BackfillPolicy.single_run()),
            ],
            "must have equal backfill policies",
        ),
        ([table("a"), table(["a", "b"])], "table a/b at path 'a/b' lies in table a at path 'a'"),
        ([table("a"), table("b", metadata={"graveler/path": "a"})], "table b at path 'a' lies in table a"),
        ([table("a-b"), table("a_b")], "the keys 'a-b' and 'a_b' become the same name 'a_b' in Dagster"),
        ([table(["a", "b"]), table("a__b")], "the keys 'a/b' and 'a__b' become the same name 'a__b' in Dagster"),
    ],
    ids=["none", "partitions", "backfill policies", "nested", "same path", "same name", "same joined name"],
)
def test_tables_that_cannot_be_published_together_are_refused(tables: list[dg.AssetsDefinition], said: str) -> None:
    with pytest.raises(dg.DagsterInvalidDefinitionError, match=said):
        write_audit_publish(tables=tables, key=["flights", "main"])


def test_a_check_of_another_asset_is_refused() -> None:
    @dg.asset_check(asset="other", blocking=True)
    def good() -> dg.AssetCheckResult:
        return dg.AssetCheckResult(passed=True)

    with pytest.raises(dg.DagsterInvalidDefinitionError, match="check good of other: this asset is none of the tables"):
        write_audit_publish(tables=[table("a")], checks=[good], key=["flights", "main"])


def test_two_published_branches_with_one_name_are_refused() -> None:
    targets = [
        PublishTarget(key=[branch, "main"], tables=[table(name)], branch=name)
        for branch, name in {"my-shop": "a", "my_shop": "b"}.items()
    ]
    with pytest.raises(
        dg.DagsterInvalidDefinitionError, match="'my-shop/main' and 'my_shop/main' become the same name"
    ):
        publish_in_order(targets=targets, key="both")
