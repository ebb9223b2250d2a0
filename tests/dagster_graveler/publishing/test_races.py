"""Publications that race for the same partition."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from dagster_graveler.publishing import ops
from graveler_core import connect
from graveler_core.facade.branch import Branch
from graveler_core.facade.repository import Repository
from tests.dagster_graveler.publishing import small_lake
from tests.dagster_graveler.publishing.conftest import JANUARY, Lake
from tests.dagster_graveler.publishing.small_lake import PUBLISH, TABLES, failures


def test_the_second_of_two_runs_that_replace_one_partition_is_told_to_run_again(lake: Lake) -> None:
    for name in ("one", "two"):  # both branches begin from the same commit, and each run names its files itself
        assert lake.run(*TABLES, tags={"graveler/branch": name}, raw=[name]).success
    assert lake.run(PUBLISH, tags={"graveler/branch": "one"}).success
    result = lake.run(PUBLISH, tags={"graveler/branch": "two"})
    assert not result.success
    (said,) = failures(result)
    assert said.startswith("kept: branch 'two' is not published.")
    assert f"raw/{JANUARY}/" in said
    assert "another run published the same data meanwhile" in said
    assert "run again" in said
    assert lake.published("raw") == ["one"]


def test_other_partitions_do_not_disturb_each_other(lake: Lake) -> None:
    for month in ("2013-01", "2013-02"):
        assert lake.run(*TABLES, partition=month, tags={"graveler/branch": month}).success
    for month in ("2013-01", "2013-02"):
        assert lake.run(PUBLISH, partition=month, tags={"graveler/branch": month}).success
    assert lake.published("raw", "2013-01") == lake.published("raw", "2013-02") == ["raw row"]


@pytest.mark.parametrize(
    ("owner", "method", "said"),
    [
        (Branch, "put", "does not exist any more"),
        (small_lake, "written", "it was deleted while tables were written on"),
    ],
    ids=["before-the-digest", "after-the-digest"],
)
def test_a_write_that_is_deleted_with_a_published_branch_is_not_reported_as_published(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, owner: Any, method: str, said: str
) -> None:
    work = {"graveler/branch": "work"}
    assert lake.run(*TABLES, tags=work).success
    with monkeypatch.context() as delayed:  # the publication comes to the deletion of its branch
        delayed.setattr(Repository, "delete_branch", lambda *_, **expected: None)
        assert lake.run(PUBLISH, tags=work).success
    head, call = lake.repository.commit("work").id, getattr(owner, method)

    def and_delete(*args: Any, **options: Any) -> Any:
        made = call(*args, **options)
        lake.repository.delete_branch("work", expected=head)
        return made

    monkeypatch.setattr(owner, method, and_delete)
    result = lake.run("raw", PUBLISH, tags=work, raw=["new"])
    assert not result.success
    assert said in "\n".join(failures(result))
    assert lake.published("raw") == ["raw row"]
    assert lake.branches() == []


def test_a_merged_branch_is_not_deleted_while_another_run_uses_it(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a run without the publish asset could succeed although its write was deleted."""
    work = {"graveler/branch": "work"}
    assert lake.run(*TABLES, tags=work).success
    call, published = Branch.remove_prefix, []

    def and_publish(*args: Any, **options: Any) -> Any:
        with monkeypatch.context() as original:
            original.setattr(Branch, "remove_prefix", call)
            if not published:
                published.append(lake.run(PUBLISH, tags=work).success)
        return call(*args, **options)

    monkeypatch.setattr(Branch, "remove_prefix", and_publish)
    assert lake.run("raw", tags=work, raw=["new"]).success
    assert published == [True]
    assert lake.published("raw") == ["raw row"]
    assert lake.branches() == ["work"]
    assert lake.run(PUBLISH, tags=work).success
    assert lake.published("raw") == ["new"]
    assert lake.branches() == []


@pytest.mark.parametrize("between", ["uncommitted", "is_in_use"])
def test_a_merged_branch_on_which_another_run_wrote_and_ended_is_not_deleted(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, between: str
) -> None:
    """Its writes are staged, so that they do not move the head."""
    work, ended = {"graveler/branch": "work"}, []
    assert lake.run(*TABLES, tags=work).success
    owner: Any = Branch if between == "uncommitted" else ops
    call = getattr(owner, between)

    def and_write(*args: Any, **options: Any) -> Any:
        found = call(*args, **options)
        with monkeypatch.context() as original:
            original.setattr(owner, between, call)
            found = list(found) if between == "uncommitted" else found
            if not ended:
                ended.append(lake.run("raw", tags=work, raw=["new"]).success)
        return found

    monkeypatch.setattr(owner, between, and_write)
    assert lake.run(PUBLISH, tags=work).success
    assert ended == [True]
    assert lake.branches() == ["work"]
    assert lake.run("weather", PUBLISH, tags=work).success
    assert lake.published("raw") == ["new"]


PROGRAM = """\
import dagster as dg

from tests.dagster_graveler.publishing.lake_location import parallel_lake
from tests.dagster_graveler.publishing.small_lake import failures

if __name__ == "__main__":
    with (
        dg.DagsterInstance.get() as instance,
        dg.execute_job(
            dg.reconstructable(parallel_lake),
            instance,
            tags={"dagster/partition": "2013-01"},
            run_config={"execution": {"config": {"max_concurrent": 2}}},
        ) as result,
    ):
        print("published" if result.success else "\\n".join(failures(result)))
"""


@pytest.mark.slow
def test_whole_runs_that_race_on_postgresql_never_leave_a_partition_twice(postgresql_url: str, tmp_path: Path) -> None:
    """Two runs at once, with one process for each step, replace the same partition of all tables."""
    program = tmp_path / "race.py"
    program.write_text(PROGRAM)
    home = tmp_path / "home"
    home.mkdir()
    with dg.DagsterInstance.from_config(str(home)):  # creates its databases: two processes cannot do it at once
        pass
    environment = {
        **os.environ,
        "DAGSTER_HOME": str(home),
        "LAKE_STORE": postgresql_url,
        "LAKE_DATA": (tmp_path / "data").as_uri(),
        "PYTHONPATH": os.getcwd(),
    }
    command = [sys.executable, str(program)]
    said = []
    with ExitStack() as stack:
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        racing = [stack.enter_context(subprocess.Popen(command, env=environment, text=True, **pipes)) for _ in range(2)]
        for process in racing:
            out, err = process.communicate(timeout=600)
            assert process.returncode == 0, err[-5_000:]
            said.append(out)
    published = sum(text.strip() == "published" for text in said)
    with connect(postgresql_url) as graveler:
        repository = graveler.repository("lake")
        files = [entry.path.rsplit("/", 1)[0] for entry in repository.at("main").list()]
        merges = [commit for commit in repository.log("main", first_parent=True) if len(commit.parents) > 1]
    assert files == [f"{table}/2013-01" for table in sorted(TABLES)]
    assert published == len(merges) >= 1
    if published == 1:
        assert any("another run published the same data meanwhile" in text for text in said)
