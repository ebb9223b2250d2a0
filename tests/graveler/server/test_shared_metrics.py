"""Metrics that several processes share: the answer of each process has the sums of all."""

from __future__ import annotations

import asyncio
import time

import pytest

from graveler.server import observing, shared_metrics
from graveler.server.observing import ServerMetrics
from graveler.server.shared_metrics import MetricsBoard


def shown(metrics: ServerMetrics) -> dict[str, float]:
    lines = (line.rpartition(" ") for line in metrics.shown().decode().splitlines() if not line.startswith("#"))
    return {name: float(value) for name, _, value in lines}


async def counted(metrics: ServerMetrics, *operations: tuple[str, float]) -> None:
    for operation, seconds in operations:
        metrics.begin()
        metrics.end(operation, 200, 10, seconds)
    await asyncio.sleep(0.01)


def test_each_process_shows_the_sums_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observing, "SHARING_SECONDS", 0)
    board = MetricsBoard(3)
    one, two, silent = (ServerMetrics(board) for _ in range(3))
    asyncio.run(counted(one, ("stat", 0.02), ("put", 0.02)))
    asyncio.run(counted(two, ("stat", 0.2), ("stat", 0.02), ("list", 0.02)))
    two.begin()
    found = shown(one)
    assert found['graveler_server_requests_total{operation="stat",status="200"}'] == 3
    assert found['graveler_server_requests_total{operation="list",status="200"}'] == 1
    assert found['graveler_server_request_seconds_bucket{le="0.025",operation="stat"}'] == 2
    assert found['graveler_server_request_seconds_bucket{le="0.25",operation="stat"}'] == 3
    assert found['graveler_server_request_seconds_sum{operation="stat"}'] == pytest.approx(0.24)
    assert found['graveler_server_sent_bytes_total{operation="stat"}'] == 30
    assert found == shown(silent)
    assert shown(two)["graveler_server_requests_running"] == 1
    begun = [value for name, value in found.items() if "_created" in name]
    assert begun
    assert max(begun) < time.time() + 1  # times are no sums


def test_samples_that_are_too_many_leave_the_former_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    board = MetricsBoard(2)
    board.write(0, {"m": [("m", {}, 1.0)]})
    monkeypatch.setattr(shared_metrics, "SLOT_BYTES", 100)
    board.write(0, {"m": [("m", {"path": "x" * 200}, 2.0)]})
    monkeypatch.undo()
    assert list(board.read(1)) == [{"m": [["m", {}, 1.0]]}]
