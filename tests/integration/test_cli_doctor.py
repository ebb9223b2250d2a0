"""`graveler doctor` on files and SQLite: each ailment of a repository is made, seen, mended by the command that it
prints, and gone.
"""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
import time_machine

from graveler_core.diagnostics.doctor.diagnosis import Ailment
from graveler_core.engine.references.events import fold
from graveler_core.model.dump import Restoration
from graveler_core.model.entities import NamespaceClaim, RepositoryState
from graveler_core.model.ids import BranchId, Nonce, RepositoryId, RepositoryUid
from graveler_core.objects.uploads import Uploads
from graveler_core.records import access
from graveler_core.records import layout as keys
from tests.integration.command_line import Cli, Ran, put, refused
from tests.integration.doctoring import (
    MAIN,
    REPOSITORY,
    cured,
    forget_marks,
    found,
    gone,
    head,
    ill,
    opened,
    record,
    records,
    stage_layers,
)

LONG_AGO = "2020-01-01 00:00 +0000"


@pytest.fixture
def old(cli: Cli) -> Cli:
    """A repository that was made long ago."""
    with time_machine.travel(LONG_AGO, tick=True):
        assert cli("repo", "create", REPOSITORY).code == 0
    return cli


def test_a_healthy_store(flights: Cli) -> None:
    assert flights("doctor") == Ran(0, "", "")
    checked = {"type": "data check", "repository": "flights", "sizes": None, "checksums": None, "unfinished": None}
    assert flights("doctor", "--deep", "--repository", "flights", "--json").documents == [checked]
    assert flights("doctor", "--repository", REPOSITORY).code == 0


def test_a_repository_that_stopped_half_way(old: Cli) -> None:
    with records() as kv, time_machine.travel(LONG_AGO, tick=True):
        update = {"state": RepositoryState.DELETING, "was_active": True}
        access.write(kv, keys.repository(RepositoryId("flights")), record(kv).model_copy(update=update))
    assert ill(old, Ailment.REPOSITORY_HALF_MADE)["where"] == REPOSITORY
    cured(old, Ailment.REPOSITORY_HALF_MADE)


def test_a_restoration_that_has_not_ended(flights: Cli, here: Path) -> None:
    with opened() as graveler:
        flights("commit", MAIN, "-m", "begin")
        dumped = graveler.repository("flights").dump_refs((here / "dump").as_uri())
        bare = graveler.create_bare_repository("bare", (here / "bare").as_uri())
        record = Restoration(digest=dumped.digest, since=datetime.now(UTC) - timedelta(hours=2))
        access.create(graveler._stores.kv, keys.restoration(bare._record), record)
    assert ill(flights, Ailment.RESTORATION_STUCK)["where"] == "graveler://bare"
    with opened() as graveler:
        graveler.repository("bare").restore_refs((here / "dump").as_uri())
    gone(flights, Ailment.RESTORATION_STUCK)


def test_what_was_deleted_long_ago(old: Cli) -> None:
    with time_machine.travel(LONG_AGO, tick=True):
        put(old, "raw/jan.csv", b"january")
        old("repo", "delete", REPOSITORY, "--yes")
    assert found(old, Ailment.DELETED_DUE, "--repository", "flights")[0]["where"] == REPOSITORY
    cured(old, Ailment.DELETED_DUE)
    assert old("repo", "list", "--deleted").out == ""
    ran = old("doctor", "--repository", "flights")
    assert (ran.code, ran.out) == (2, "")
    assert "flights" in ran.err


def test_what_a_daily_cleaner_takes_is_not_told(cli: Cli) -> None:
    lately = datetime.now(UTC) - timedelta(days=7, hours=20)
    with time_machine.travel(lately, tick=True):
        assert cli("repo", "create", REPOSITORY).code == 0
        cli("repo", "delete", REPOSITORY, "--yes")
    assert cli("doctor").code == 0
    assert cli("clean", "--yes", "--json").documents[0]["repositories"] == 1


def test_a_namespace_that_nobody_owns(flights: Cli, here: Path) -> None:
    uri = (here / "ghost").as_uri()
    claim = NamespaceClaim(
        owner=RepositoryUid("0" * 32), repository=RepositoryId("ghost"), nonce=Nonce("1" * 32), since=datetime.now(UTC)
    )
    with records() as kv:
        access.write(kv, keys.namespace_claim(uri), claim)
    refused(flights("repo", "create", "graveler://other", "--storage-namespace", uri), "ghost")
    cured(flights, Ailment.NAMESPACE_UNOWNED)
    assert flights("repo", "create", "graveler://other", "--storage-namespace", uri).code == 0


def test_a_namespace_that_cannot_be_read(flights: Cli, here: Path) -> None:
    data = here / ".graveler" / "data" / "flights"
    data.rename(here / "kept")
    data.write_bytes(b"no directory")
    assert ill(flights, Ailment.NAMESPACE_UNREADABLE)["command"] == []
    data.unlink()
    (here / "kept").rename(data)
    gone(flights, Ailment.NAMESPACE_UNREADABLE)


def test_a_record_that_is_damaged_does_not_hide_the_others(flights: Cli) -> None:
    flights("branch", "create", "graveler://flights/dev")
    stage_layers("dev", 81)
    with records() as kv:
        where = keys.branch(record(kv), BranchId("main"))
        stored = kv.get(where.partition, where.key)
        assert stored is not None
        kv.set(where.partition, where.key, b"\x00damaged")
    assert "branches/main" in ill(flights, Ailment.RECORD_DAMAGED)["what"]
    assert ill(flights, Ailment.BRANCH_LAYERS)["where"] == "graveler://flights/dev"
    with records() as kv:
        kv.set(where.partition, where.key, stored.value)
    gone(flights, Ailment.RECORD_DAMAGED)


def test_a_branch_that_is_near_to_its_limit_of_layers(flights: Cli) -> None:
    stage_layers("main", 80)
    assert found(flights, Ailment.BRANCH_PRESSURE) == []
    cured(flights, Ailment.BRANCH_LAYERS)


def test_a_branch_under_pressure(flights: Cli) -> None:
    stage_layers("main", 20)
    assert ill(flights, Ailment.BRANCH_PRESSURE)["what"] == "20 layers of 20"
    cured(flights, Ailment.BRANCH_PRESSURE)


def test_layers_that_commits_left(old: Cli) -> None:
    with time_machine.travel(LONG_AGO, tick=True):
        put(old, "a", b"a")
        old("commit", MAIN, "-m", "one")
    cured(old, Ailment.LAYERS_LEFT)


def test_old_idempotency_keys(old: Cli) -> None:
    with time_machine.travel(LONG_AGO, tick=True), opened() as graveler:
        main = graveler.repository("flights").branch("main")
        main.put("a", b"a")
        main.commit("once", idempotency_key="once")
    cured(old, Ailment.KEYS_OLD)


def test_uploads_of_jobs_that_died(flights: Cli) -> None:
    with time_machine.travel(LONG_AGO, tick=True), opened() as graveler:
        stores = graveler._stores
        repo = record(stores.kv)
        uploads = Uploads(stores.kv, stores.blobs.at(repo.storage_namespace), repo, stores.clock, stores.ids)
        uploads.blobs.create(f"data/{uploads.begin()}/part", b"left")
    cured(flights, Ailment.UPLOADS_LEFT)


def test_a_log_of_references_that_is_damaged(flights: Cli) -> None:
    assert flights("reflog", REPOSITORY, "--mend", "--json").documents == [{"mended": False}]
    refused(flights("reflog", MAIN, "--mend"), "--mend", "graveler://flights")
    with opened() as graveler:
        repo = graveler.repository("flights")
        repo.create_branch("dev", "main")
    with opened() as graveler:
        repo = graveler.repository("flights")
        fold(graveler._stores, repo._record)
        held = access.read(graveler._stores.kv, keys.reference_log(repo._record))
        assert held is not None
        header = keys.internal_history(repo._record).headers.at(held.value.commit_id)
        graveler._stores.kv.delete(header.partition, header.key)
    ran = cured(flights, Ailment.REFERENCE_LOG_DAMAGED)
    assert ran.out == "mended the log\n"


def test_a_head_that_is_lost(flights: Cli) -> None:
    put(flights, "a", b"a")
    whole = head()
    flights("commit", MAIN, "-m", "lost")
    with records() as kv:
        where = keys.commit(record(kv), head())
        kv.delete(where.partition, where.key)
    assert ill(flights, Ailment.HEAD_DAMAGED)["severity"] == "critical"
    cured(flights, Ailment.HEAD_DAMAGED)
    assert head() == whole


def test_a_head_of_which_nothing_is_left(cli: Cli) -> None:
    cli("repo", "create", REPOSITORY)
    with records() as kv:
        where = keys.commit(record(kv), head())
        stored = kv.get(where.partition, where.key)
        assert stored is not None
        kv.delete(where.partition, where.key)
    assert ill(cli, Ailment.HEAD_DAMAGED)["command"] == ["graveler", "fsck", REPOSITORY]
    with records() as kv:
        kv.set(where.partition, where.key, stored.value)
    gone(cli, Ailment.HEAD_DAMAGED)


def test_content_that_is_lost(flights: Cli, here: Path) -> None:
    """Of an older commit: the head is whole, so only a deep examination finds it."""
    with opened() as graveler:
        main = graveler.repository("flights").branch("main")
        names = [f"{number:05}" for number in range(2_000)]
        for prefix in ("a", "b"):
            main.stage_many(pa.table({"key": [prefix + name for name in names], "address": names}))
            main.commit(prefix)
        main.remove_prefix("a")
        main.commit("without a")
    files = [path for path in (here / ".graveler/data/flights/_graveler").iterdir() if path.is_file()]
    lost = next(file for file in files if only_history_misses(flights, file, here / "lost"))
    assert found(flights, Ailment.CONTENT_DAMAGED) == []
    assert any(lost.name in row["what"] for row in found(flights, Ailment.CONTENT_DAMAGED, "--deep"))
    shutil.move(here / "lost", lost)
    gone(flights, Ailment.CONTENT_DAMAGED, "--deep")


def test_an_index_that_does_not_mark_its_commits_changes(flights: Cli) -> None:
    put(flights, "a", b"a")
    assert flights("commit", MAIN, "-m", "a").code == 0
    assert found(flights, Ailment.INDEX_WRONG, "--deep") == []
    forget_marks(head())
    cured(flights, Ailment.INDEX_WRONG, "--deep")


def only_history_misses(cli: Cli, file: Path, aside: Path) -> bool:
    """Take a file away; put it back where a head misses it, or nothing does."""
    shutil.move(file, aside)
    rows = [row for row in cli("doctor", "--deep", "--json").documents if row["type"] == "diagnosis"]
    if {row["ailment"] for row in rows} == {Ailment.CONTENT_DAMAGED}:
        return True
    shutil.move(aside, file)
    return False


def test_counters_that_were_lost(flights: Cli) -> None:
    with opened() as graveler:
        main = graveler.repository("flights").branch("main")
        for number in range(9):
            main.remove_many(f"gone/{number}/{path:03}" for path in range(500))
    assert found(flights, Ailment.COUNTERS_OFF, "--deep") == []
    with records() as kv:
        for row in list(kv.scan(keys.STATS)):
            kv.delete(keys.STATS, row.key)
    assert found(flights, Ailment.COUNTERS_OFF) == []
    cured(flights, Ailment.COUNTERS_OFF, "--deep")
