"""Credentials with the real daemon: ticks and runs are their user's, a denial ends a run at once, no secret is kept."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import zlib
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import dagster as dg
import pytest

from graveler_core import Credentials, connect
from orchestration.local import Installation
from tests.orchestration import guarded_definitions
from tests.orchestration.guarded_definitions import USERS
from tests.orchestration.ui_server import wait_until

pytestmark = pytest.mark.slow
DAEMON = Path(sys.executable).with_name("dagster-daemon")


@pytest.fixture
def secrets(installation: Installation, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A guarded store, a branch for each user with something staged, and their secrets: in the environment too.

    Grace may write, Eve may read, Mallory shows a secret that is none.
    """
    with connect(installation.store) as graveler:
        lake = graveler.create_repository("lake", f"{installation.data}/lake")
        for user in USERS:
            lake.create_branch(f"of-{user}", source="main").put("a", b"1")
            graveler.iam.create_user(user)
        root = graveler.iam.set_up("root")
        for user, group in zip(USERS, ("Developers", "Viewers", "Developers"), strict=True):
            graveler.iam.add_member(group, user)
        made = {user: graveler.iam.create_credential(user) for user in USERS}
    told = {"root": root.secret.get_secret_value()}
    for user, credential in made.items():
        told[user] = credential.secret.get_secret_value()
        if user == "mallory":
            told[user] = told[user][::-1]
        monkeypatch.setenv(f"{user.upper()}_KEY", credential.access_key_id)
        monkeypatch.setenv(f"{user.upper()}_SECRET", told[user])
    monkeypatch.setenv("ROOT_KEY", root.access_key_id)
    return told


@pytest.fixture
def daemon(installation: Installation, secrets: dict[str, str]) -> Iterator[Path]:
    """The daemon, at work on `guarded_definitions`; gives the file of its output."""
    output = installation.root / "daemon.log"
    program = [str(DAEMON), "run", "--module-name", guarded_definitions.__name__]
    with output.open("wb") as log:
        process = subprocess.Popen(program, stdout=log, stderr=log, start_new_session=True)
    try:
        yield output
        assert process.poll() is None, output.read_text()
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def runs(instance: dg.DagsterInstance) -> dict[str, dg.DagsterRun]:
    """The runs that have ended, by user."""
    return {run.job_name.removeprefix("commit_by_"): run for run in instance.get_runs() if run.is_finished}


def failure(instance: dg.DagsterInstance, run: dg.DagsterRun) -> str:
    """What the only failed step of a run says; it was tried once."""
    logs = instance.all_logs(run.run_id)
    events = [log.dagster_event for log in logs if log.dagster_event is not None]
    kinds = [event.event_type for event in events]
    assert kinds.count(dg.DagsterEventType.STEP_START) == 1
    assert dg.DagsterEventType.STEP_UP_FOR_RETRY not in kinds
    (failed,) = [event for event in events if event.is_step_failure]
    data = failed.step_failure_data.user_failure_data
    assert data is not None
    return f"{data.metadata['kind'].value}: {data.description}"


def everything_kept(root: Path) -> Iterator[tuple[str, bytes]]:
    """Each file, and each value of each SQLite file, unpacked where it is packed, with a name of its place."""
    for path in (found for found in root.rglob("*") if found.is_file()):
        content = path.read_bytes()
        yield str(path), content
        if content.startswith(b"SQLite format 3"):
            yield from values(path)


def values(path: Path) -> Iterator[tuple[str, bytes]]:
    with closing(sqlite3.connect(path)) as db:
        for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            for row in db.execute(f'SELECT * FROM "{table}"'):
                for value in row:
                    packed = value if isinstance(value, bytes) else str(value).encode()
                    yield f"{path}: {table}", packed
                    with suppress(zlib.error):
                        yield f"{path}: {table}", zlib.decompress(packed)


def test_ticks_and_runs_are_their_users_and_no_secret_is_kept(
    installation: Installation, instance: dg.DagsterInstance, secrets: dict[str, str], daemon: Path
) -> None:
    wait_until(lambda: len(runs(instance)) == len(USERS))
    ended = runs(instance)
    with connect(installation.store, credentials=Credentials(os.environ["ROOT_KEY"], secrets["root"])) as graveler:
        lake = graveler.repository("lake")
        heads = {user: lake.commit(f"of-{user}") for user in USERS}
        assert heads["eve"].id == heads["mallory"].id == lake.commit("main").id
    assert ended["grace"].is_success
    assert (heads["grace"].message, heads["grace"].committer) == ("By grace", "grace")
    assert heads["grace"].metadata["run"] == ended["grace"].run_id
    denied = "AccessDenied: user 'eve' may not fs:CreateCommit on arn:graveler:fs:::repository/lake/branch/of-eve"
    assert failure(instance, ended["eve"]) == denied
    assert (
        failure(instance, ended["mallory"])
        == "InvalidCredentials: the access key does not exist, or the secret does not match it"
    )

    # A sensor of the house looked at the branches in grace's name.
    of_lake = instance.fetch_observations(dg.AssetKey(["lake", "branches"]), limit=10).records
    assert {record.partition_key for record in of_lake} >= {"main", *(f"of-{user}" for user in USERS)}

    named = set()
    for place, kept in everything_kept(installation.root):
        assert not [user for user, secret in secrets.items() if secret.encode() in kept], place
        named |= {user for user in USERS if f"{user.upper()}_SECRET".encode() in kept}
    assert named == set(USERS)  # the variables are kept, in snapshots of the jobs: that is how deep was looked
