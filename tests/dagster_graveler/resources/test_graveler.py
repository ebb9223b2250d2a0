"""The connection: lazy, one, and silent about its secret."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from pydantic import ValidationError

from dagster_graveler.resources.graveler import GravelerResource
from dagster_graveler.resources.graveler_branch import GravelerBranch
from graveler_core import connect
from graveler_core.errors import InvalidInput, Kind, PermissionDenied, Unavailable
from graveler_core.facade.graveler import Graveler


def test_it_connects_when_first_used_and_once(tmp_path: Path) -> None:
    resource = GravelerResource(url=f"sqlite:///{tmp_path / 'meta.db'}")
    assert not (tmp_path / "meta.db").exists()
    with resource.graveler() as graveler:
        assert (tmp_path / "meta.db").exists()
        assert resource.graveler() is graveler


def test_it_is_closed_with_the_run_that_used_it(tmp_path: Path) -> None:
    used: list[Graveler] = []

    @dg.asset
    def writes(graveler: GravelerResource) -> None:
        opened = graveler.graveler()
        main = opened.create_repository("lake", "memory://lake", adopt=True, ephemeral=True).branch("main")
        for n in range(300):  # some of which are counted in memory only
            main.remove(f"path/{n}")
        used.append(opened)

    store = f"sqlite:///{tmp_path / 'meta.db'}"
    assert dg.materialize([writes], resources={"graveler": GravelerResource(url=store)}).success
    with pytest.raises(Unavailable):
        list(used[0].list_repositories())
    with connect(store) as graveler:
        (item,) = graveler.pressures()
    assert item.load.staged == 300


def test_it_shows_the_credentials_that_the_environment_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"sqlite:///{tmp_path / 'meta.db'}"
    with connect(url) as graveler:
        made = graveler.iam.set_up("root")
    secret = made.secret.get_secret_value()
    with pytest.raises(PermissionDenied) as refused:
        GravelerResource(url=url).graveler()
    assert refused.value.kind is Kind.CredentialsRequired
    monkeypatch.setenv("KEY_ID", made.access_key_id)
    monkeypatch.setenv("KEY_SECRET", secret)
    places: list[dict[str, str]] = []

    @dg.asset
    def uses(graveler: GravelerResource) -> None:
        assert list(graveler.graveler().list_repositories()) == []
        places.append(graveler.place("lake"))

    shown = {"access_key_id": dg.EnvVar("KEY_ID"), "secret_access_key": dg.EnvVar("KEY_SECRET")}
    with dg.DagsterInstance.ephemeral() as instance:
        done = dg.materialize([uses], resources={"graveler": GravelerResource(url=url, **shown)}, instance=instance)
        assert done.success
        run = instance.get_run_by_id(done.run_id)
        logged = [str(record) for record in instance.all_logs(done.run_id)]
    assert secret not in f"{run} {logged}"
    expected = {"access_key_id": made.access_key_id, "secret_access_key": secret}
    assert places == [{"store": url, "repository": "lake", **expected}]


def test_it_is_printed_without_what_may_be_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = {"URL": "postgresql://u:canary-url@nowhere/db", "KEY": "canary-key", "OPTION": "canary-option"}
    for name, value in secrets.items():
        monkeypatch.setenv(name, value)
    printed: list[str] = []

    @dg.asset
    def prints(graveler: GravelerResource, branch: GravelerBranch) -> None:
        printed.extend([repr(graveler), str(graveler), repr(branch), str(branch)])

    options = {"aws_secret_access_key": dg.EnvVar("OPTION")}
    shown = {"access_key_id": "AK1", "secret_access_key": dg.EnvVar("KEY")}
    graveler = GravelerResource(url=dg.EnvVar("URL"), storage_options=options, **shown)
    branch = GravelerBranch(graveler=graveler, repository="lake", storage_root="memory://lake")
    assert dg.materialize([prints], resources={"graveler": graveler, "branch": branch}).success
    assert all("AK1" in text for text in printed)
    assert "canary" not in "".join(printed)


@pytest.mark.parametrize(
    ("wrong", "rule"),
    [
        ({"secret_acces_key": "canary"}, "secret_acces_key\n  Extra inputs are not permitted"),
        ({"storage_options": {"region": ["canary"]}}, "storage_options.region\n  Input should be a valid string"),
    ],
)
def test_a_wrong_field_is_named_without_its_value(wrong: dict[str, Any], rule: str) -> None:
    with pytest.raises(ValidationError) as caught:
        GravelerResource(url="memory://", **wrong)
    assert rule in str(caught.value)
    assert "canary" not in str(caught.value)


def test_it_connects_with_its_caches(tmp_path: Path) -> None:
    directory = tmp_path / "cache"
    caches = {"cache_dir": str(directory), "cache_bytes": 20 << 20, "memory_cache_bytes": 1_000_000}
    with GravelerResource(url="memory://", **caches).graveler() as graveler:  # type: ignore[arg-type]
        opening = graveler._stores.opening
        assert opening is not None
        assert (opening.cache_dir, opening.cache_bytes, opening.memory_cache_bytes) == tuple(caches.values())
    with pytest.raises(InvalidInput, match="memory_cache_bytes -1"):
        GravelerResource(url="memory://", memory_cache_bytes=-1).graveler()


def test_a_url_of_no_store_is_one_clear_error() -> None:
    with pytest.raises(InvalidInput, match="gopher"):
        GravelerResource(url="gopher://hole").graveler()


def test_a_secret_url_comes_from_the_environment_and_stays_out_of_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRAVELER_STORE", f"sqlite:///{tmp_path / 'canary.db'}")
    used = []

    @dg.asset
    def uses(graveler: GravelerResource) -> None:
        with graveler.graveler() as opened:
            used.append(list(opened.list_repositories()))

    with dg.DagsterInstance.ephemeral() as instance:
        resources = {"graveler": GravelerResource(url=dg.EnvVar("GRAVELER_STORE"))}
        result = dg.materialize([uses], instance=instance, resources=resources)
        assert result.success
        assert used == [[]]
        assert (tmp_path / "canary.db").exists()
        run = instance.get_run_by_id(result.run_id)
        assert "canary" not in repr(run)
        assert not any("canary" in repr(entry) for entry in instance.all_logs(result.run_id))
