"""Checks that publications require of a branch, and checks of tables that a publication does not know."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from dagster_graveler import GravelerBranch, GravelerIOManager, GravelerResource, write_audit_publish
from dagster_graveler.publishing import ops
from dagster_graveler.publishing.groups import GroupTable, TableGroup
from dagster_graveler.publishing.reports import CheckReports
from dagster_graveler.publishing.verdict import Changes, Verdict
from graveler_core import connect
from graveler_core.errors import PermissionDenied, Unavailable
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.model import protection
from tests.dagster_graveler.publishing.small_lake import failures

GOOD: dict[str, bool] = {}
"""Results of checks by table; by default they pass."""


class Locations:
    """Code locations that publish into the branch `main` of one repository."""

    def __init__(self, directory: Path, instance: dg.DagsterInstance, graveler: Graveler) -> None:
        self._instance = instance
        self._place = f"sqlite:///{directory / 'meta.db'}", (directory / "data").as_uri()
        self._graveler = graveler

    def publish(
        self,
        group: str,
        *tables: str,
        run: str = "",
        path: str = "",
        check: str = "good",
        require: bool = True,
        on: str = "",
    ) -> list[str]:
        """Publish a group of tables. Return the descriptions of failures, none if it was published.

        Args:
            group: Name of the group.
            tables: Its tables, each with one check.
            run: The only table to materialize. Default: all of them.
            path: Path of all tables. Default: their names.
            check: Name of the check of each table.
            require: True if the group requires its checks.
            on: Branch whose tables are published, as they are. Default: the tables are written on a new one.
        """
        url, storage = self._place
        branch = GravelerBranch(graveler=GravelerResource(url=url), repository="lake", storage_root=storage)
        made = [_table(name, {"graveler/path": path} if path else {}) for name in tables]
        checks = [_check(name, check) for name in tables]
        publication = write_audit_publish(tables=made, checks=checks, key=group, require=require)
        written = () if on else (run,) if run else tables
        chosen = dg.define_asset_job("chosen", dg.AssetSelection.assets(*written, [group, "publish"]))
        resources = {"branch": branch, "io_manager": GravelerIOManager(branch=branch)}
        definitions = dg.Definitions.merge(
            publication, dg.Definitions(resources=resources, jobs=[chosen], executor=dg.in_process_executor)
        )
        result = definitions.resolve_job_def("chosen").execute_in_process(
            instance=self._instance, tags={"graveler/branch": on} if on else {}, raise_on_error=False
        )
        return list(failures(result))

    @property
    def repository(self) -> Repository:
        return self._graveler.repository("lake")

    @property
    def required(self) -> tuple[str, ...]:
        return self.repository.required_checks().get("main", ())

    def metadata(self, asset: list[str]) -> dict[str, Any]:
        """Return the metadata of the last materialization of an asset."""
        event = self._instance.get_latest_materialization_event(dg.AssetKey(asset))
        assert event is not None
        assert event.asset_materialization is not None
        return {name: value.value for name, value in event.asset_materialization.metadata.items()}

    @property
    def tables(self) -> list[str]:
        return sorted({entry.path.partition("/")[0] for entry in self.repository.at("main").list()})

    def merge(self, change: str, *reported: str, url: str = "") -> None:
        """Merge a change by another program, which reports checks with a URL."""
        branch = self.repository.create_branch("program", "main")
        if change.startswith("-"):
            branch.remove_prefix(change[1:])
        else:
            branch.put(change, b"by a program")
        branch.commit("Change by a program")
        for name in reported:
            self.repository.report_check(name, True, commit="program", url=url)
        self.repository.merge("program", into="main")
        self.repository.delete_branch("program")


def _table(name: str, metadata: dict[str, str]) -> dg.AssetsDefinition:
    @dg.asset(key=name.split("/"), metadata=metadata)
    def table() -> str:
        return uuid.uuid4().hex

    return table


def _check(table: str, name: str) -> dg.AssetChecksDefinition:
    @dg.asset_check(asset=table.split("/"), name=name, blocking=True)
    def good() -> dg.AssetCheckResult:
        return dg.AssetCheckResult(passed=GOOD.get(table, True))

    return good


@pytest.fixture
def locations(tmp_path: Path) -> Iterator[Locations]:
    with dg.DagsterInstance.ephemeral() as instance, connect(f"sqlite:///{tmp_path / 'meta.db'}") as graveler:
        yield Locations(tmp_path, instance, graveler)
    GOOD.clear()


def test_a_removed_table_does_not_block_the_others(locations: Locations) -> None:
    """Its check stays required while its data exist, so that no other program changes them without it."""
    assert locations.publish("flights", "airports", "carriers") == []
    for _ in range(2):
        assert locations.publish("flights", "airports") == []
        assert locations.required == ("airports/good", "carriers/good")
    with pytest.raises(Exception, match="'carriers/good' was not reported"):
        locations.merge("carriers/unchecked", "airports/good")
    locations.repository.delete_branch("program")
    locations.merge("-carriers/", "airports/good", "carriers/good")
    assert locations.publish("flights", "airports") == []
    assert locations.required == ("airports/good",)


def test_a_renamed_table_at_the_same_path_has_the_new_checks_only(locations: Locations) -> None:
    assert locations.publish("flights", "airports", path="data") == []
    assert locations.publish("flights", "places", path="data") == []
    assert locations.required == ("places/good",)


def test_a_check_that_was_removed_from_a_table_is_no_longer_required(locations: Locations) -> None:
    assert locations.publish("flights", "airports") == []
    assert locations.publish("flights", "airports", check="better") == []
    assert locations.required == ("airports/better",)


def test_a_table_whose_name_begins_with_that_of_another_one_keeps_its_checks(locations: Locations) -> None:
    assert locations.publish("weather", "rain/stations", path="stations") == []
    assert locations.publish("flights", "rain") == []
    assert locations.required == ("rain/good", "rain/stations/good")


def test_several_locations_publish_into_one_branch(locations: Locations) -> None:
    for _ in range(2):
        assert locations.publish("flights", "airports", "carriers", run="airports") == []
        assert locations.publish("weather", "rain") == []
        assert locations.publish("taxis", "trips", require=False) == []
    assert locations.required == ("airports/good", "carriers/good", "rain/good")
    assert locations.tables == ["airports", "rain", "trips"]
    GOOD["airports"] = False
    head = locations.repository.commit("main").id
    assert locations.publish("flights", "airports", "carriers", run="airports") != []
    assert locations.repository.commit("main").id == head
    assert locations.publish("weather", "rain") == []


def test_a_table_of_another_location_at_the_same_path_is_not_unchanged(locations: Locations) -> None:
    assert locations.publish("flights", "airports", path="data") == []
    (said,) = locations.publish("weather", "rain", path="data")
    assert "'airports/good' was not reported" in said
    assert (
        "check 'airports/good' is about path 'data', which this publication changes, and no run of this group "
        "evaluates it; publish it with group flights"
    ) in said
    assert "unrequire" not in said
    assert locations.required == ("airports/good",)


def test_a_former_check_is_removed_from_the_rule_of_the_branch_only(locations: Locations) -> None:
    """Other branches for which a rule holds may have data of the former table."""
    assert locations.publish("flights", "airports") == []
    locations.repository.require_checks("ma*", ["airports/good", "manual"])
    locations.repository.require_checks("release-*", ["airports/good"])
    locations.merge("other", "airports/good", "manual")
    (said,) = locations.publish("flights", "airports", check="better")
    assert "'manual' was not reported" in said
    assert "graveler check unrequire 'graveler://lake/ma*' airports/good manual" in said
    rules = {"ma*": ("airports/good", "manual"), "release-*": ("airports/good",)}
    assert locations.repository.required_checks() == rules


def test_a_refusal_names_a_command_for_each_rule_that_requires_the_check(locations: Locations) -> None:
    assert locations.publish("flights", "airports", require=False) == []
    locations.repository.require_checks("m*", ["manual", "other"])
    locations.repository.require_checks("main", ["manual"])
    locations.repository.require_checks("release-*", ["manual"])
    (said,) = locations.publish("flights", "airports", require=False)
    assert said.splitlines()[2].endswith(
        ": graveler check unrequire 'graveler://lake/m*' manual other; "
        "graveler check unrequire graveler://lake/main manual"
    )


def test_a_check_of_a_person_blocks_publications_until_it_is_reported(locations: Locations) -> None:
    assert locations.publish("flights", "airports") == []
    locations.repository.require_checks("main", [*locations.required, "rain/approved"])
    (said,) = locations.publish("flights", "airports")
    assert "'rain/approved' was not reported" in said
    assert "graveler check unrequire graveler://lake/main rain/approved" in said
    locations.merge("other", "airports/good", "rain/approved", url="graveler://lake/main/rain#approved")
    (said,) = locations.publish("flights", "airports")
    assert "'rain/approved' was not reported" in said


def test_a_merge_by_another_program_does_not_hide_the_reports(locations: Locations) -> None:
    assert locations.publish("flights", "airports") == []
    assert locations.publish("weather", "rain") == []
    locations.merge("other", "airports/good", "rain/good")
    assert locations.publish("flights", "airports") == []


def test_a_group_whose_first_merge_is_refused_requires_nothing(locations: Locations) -> None:
    assert locations.publish("flights", "airports") == []
    locations.repository.require_checks("main", ["airports/good", "manual"])
    (said,) = locations.publish("weather", "rain")
    assert "'manual' was not reported" in said
    assert locations.required == ("airports/good", "manual")


def test_a_publication_whose_rule_cannot_be_stored_merges_nothing(
    locations: Locations, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert locations.publish("flights", "airports") == []
    head = locations.repository.commit("main").id
    with monkeypatch.context() as limited:
        limited.setattr(protection, "MAX_REQUIRED", 1)
        (said,) = locations.publish("weather", "rain")
        assert "its checks cannot be required of branch 'main': required checks: has 2 names" in said
        assert locations.repository.commit("main").id == head
        assert locations.publish("flights", "airports") == []
    assert locations.publish("weather", "rain") == []
    assert locations.required == ("airports/good", "rain/good")


def test_a_publication_that_replaces_the_checks_of_a_former_table_needs_no_room_for_both(
    locations: Locations, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protection, "MAX_REQUIRED", 1)
    assert locations.publish("flights", "airports", path="data") == []
    assert locations.publish("flights", "places", path="data") == []
    assert locations.required == ("places/good",)


def test_a_rule_that_cannot_be_stored_after_the_merge_is_told_in_the_result(
    locations: Locations, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_rules(monkeypatch, PermissionDenied("the permission was taken away"))
    assert locations.publish("flights", "airports") == []
    assert locations.required == ()
    for asset in (["flights"], ["flights", "publish"]):
        assert "the permission was taken away" in locations.metadata(asset)["required checks"]


def test_a_rule_is_stored_by_the_next_publication_if_a_process_dies_after_the_merge(
    locations: Locations, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ops, "RETRIES", None)
    with monkeypatch.context() as dying:
        refuse_rules(dying, Unavailable("the process is gone"))
        assert locations.publish("flights", "airports") != []
    (left,) = [branch.id for branch in locations.repository.branches() if branch.id != "main"]
    locations.merge("other")  # by now, the merge is not the head any more
    assert locations.publish("flights", "airports", on=left) == []
    assert locations.required == ("airports/good",)


def refuse_rules(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    """Make every change of a rule fail, but no check of a change."""
    real = Repository.require_checks

    def require_checks(*args: Any, **options: Any) -> Any:
        if not options.get("dry_run"):
            raise error
        return real(*args, **options)

    monkeypatch.setattr(Repository, "require_checks", require_checks)


def test_publications_at_the_same_time_keep_the_checks_of_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Repository.required_checks

    def reports(of: Repository, table: str) -> CheckReports:
        group = TableGroup(dg.AssetKey("main"), (GroupTable(dg.AssetKey(table), table, ("good",)),), require=True)
        return CheckReports(of, group, Verdict(Changes((), ()), (), ()), "main", "main")

    def required_checks(self: Repository) -> Any:
        """Read the rules. Another publication changes them immediately afterwards."""
        found = real(self)
        with monkeypatch.context() as patched:
            patched.setattr(Repository, "required_checks", real)
            reports(self, "weather").require()
        return found

    with connect("memory://") as graveler:
        repository = graveler.create_repository("lake", "memory://lake", adopt=True, ephemeral=True)
        repository.require_checks("main", ["manual"])
        with monkeypatch.context() as patched:
            patched.setattr(Repository, "required_checks", required_checks)
            reports(repository, "flights").require()
        assert repository.required_checks() == {"main": ("flights/good", "manual", "weather/good")}
