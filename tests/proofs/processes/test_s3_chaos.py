"""Processes on one SQLite file and one bucket, killed at random, behind a proxy that mistreats requests to the bucket:
nothing is lost, nothing is torn, and no request is repeated without end.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from graveler_core.blobs.open import open_blobs
from graveler_core.errors import GravelerError, OutcomeUnknown, Unavailable
from graveler_core.facade.graveler import Graveler
from graveler_core.model.repository_settings import IndexSizes
from graveler_core.wiring.handles import connect
from graveler_core.wiring.opening import open_stores
from tests.faulty_proxy import RequestFate, faulty_proxy
from tests.proofs.processes.actor import act
from tests.proofs.processes.crew import Cast, crew, disturb
from tests.proofs.processes.test_processes import judged
from tests.s3_server import S3Server

RATES = {
    RequestFate.DROPPED: 0.02,
    RequestFate.UNANSWERED: 0.03,
    RequestFate.TWICE: 0.05,
    RequestFate.HALF: 0.02,
    RequestFate.DELAYED: 0.02,
}
MOST_ATTEMPTS = 8
"""Requests for one call of the port: attempts of `RemoteBlobs`, each sent again once (`max_retries`)."""
SMALL = IndexSizes(inline_bytes=256, object_bytes=256, fan_out=2, fold_elements=16)
"""Sizes at which most commits write files."""
NO_OBJECT = "data/x"
"""Address of entries that writers stage without content."""
CROWD = Cast(("w0", "w1", "w2", "c0", "c1", "r0", "k0", "k1"), act, enough=2_000)
"""Three writers, two committers, a reader, and two who compact, fold, sweep, clean and collect."""


@pytest.mark.ci
@pytest.mark.parametrize(
    "kills", [pytest.param(4, id="seconds"), pytest.param(30, id="minutes", marks=pytest.mark.slow)]
)
def test_nothing_is_lost_or_torn(tmp_path: Path, s3: S3Server, kills: int) -> None:
    url, bucket = f"sqlite:///{tmp_path / 'kv.db'}?durability=process", s3.make_bucket(f"chaos{kills}")
    _run(url, f"s3://{bucket}/lake", tmp_path, s3, kills)


@pytest.mark.slow
def test_records_in_the_bucket_are_not_lost_either(tmp_path: Path, s3: S3Server) -> None:
    bucket = s3.make_bucket("chaos-records")
    _run(f"s3://{bucket}/records", f"s3://{bucket}/lake", tmp_path, s3, kills=8)


def _run(url: str, namespace: str, directory: Path, s3: S3Server, kills: int) -> None:
    with connect(url, storage_options=s3.options) as graveler:
        graveler.create_repository("repo", namespace).update_settings(index_sizes=SMALL)
    with faulty_proxy(s3.endpoint, RATES, seed=kills) as proxy:
        options = {**s3.options, "endpoint": proxy.endpoint}
        with crew(url, directory / "journals", kills, CROWD, options) as crowd:
            disturb(crowd, kills, {})
        assert sum(proxy.fates[fate] for fate in RATES) > kills, "in a short run, a rare fate may not occur"
    with closing(open_stores(url, storage_options=s3.options)) as stores:
        judged(stores, directory / "journals")
        repo = Graveler(stores).repository("repo")
        found = repo.fsck(deep=True, checksums=True)
        assert not [finding for finding in found if finding.damage and finding.id != NO_OBJECT]


@pytest.mark.parametrize("fate", RequestFate)
def test_each_call_ends_soon(s3: S3Server, fate: RequestFate) -> None:
    """If every request meets the same fate, a call succeeds or raises an error of ours, after a few requests."""
    bucket = s3.make_bucket(f"always-{fate.value}")
    there = open_blobs(f"s3://{bucket}/lake", s3.options)
    there.create("old", b"o" * 1_000)
    with faulty_proxy(s3.endpoint, {fate: 1}, seed=0) as proxy:
        blobs = open_blobs(f"s3://{bucket}/lake", {**s3.options, "endpoint": proxy.endpoint})
        calls = {
            "create": lambda: blobs.create("new", b"n" * 1_000),
            "read": lambda: blobs.read("old"),
            "range": lambda: blobs.read_range("old", 10, 100),
            "head": lambda: blobs.head("old"),
            "list": lambda: [info.address for info in blobs.list()],
            "renew": lambda: blobs.renew("old"),
            "delete": lambda: blobs.delete("old"),
        }
        answers = {"read": b"o" * 1_000, "range": b"o" * 100}
        for name, call in calls.items():
            proxy.requests.clear()
            answer, error = _ended(call)
            assert error is None or isinstance(error, OutcomeUnknown | Unavailable)
            assert error is not None or answer == answers.get(name, answer)
            assert sum(proxy.requests.values()) <= MOST_ATTEMPTS
    held = {info.address: there.read(info.address) for info in there.list()}
    assert held.items() <= {"old": b"o" * 1_000, "new": b"n" * 1_000}.items()


def _ended(call: Callable[[], object]) -> tuple[object, GravelerError | None]:
    """Return what a call returns, or the error of ours that it raises."""
    try:
        return call(), None
    except GravelerError as error:
        return None, error
