"""The server that Prometheus scrapes: what it answers, where, and until when."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from prometheus_client import CollectorRegistry, Gauge

import graveler_core as graveler
from graveler_core.cli import metrics as verb
from graveler_core.errors import InvalidInput
from graveler_core.facade.graveler import Graveler
from graveler_core.metrics import MetricsServer
from graveler_core.metrics.collector import MOST_BRANCHES
from graveler_core.metrics.server import PORT


@pytest.fixture
def store() -> Iterator[Graveler]:
    with graveler.connect("memory://metrics-server") as g:
        yield g


def scraped(url: str) -> str:
    with urlopen(url, timeout=30) as answer:
        return str(answer.read().decode())


def test_it_answers_until_it_is_closed(store: Graveler) -> None:
    with MetricsServer(store, port=0) as server:
        assert server.url.startswith("http://127.0.0.1:")
        assert "graveler_up 1.0" in scraped(server.url).splitlines()
    server.wait()
    with pytest.raises(URLError):
        scraped(server.url)
    server.close()


def test_other_metrics_of_the_registry_are_told_too() -> None:
    registry = CollectorRegistry()
    Gauge("of_the_program", "A metric of the embedding program", registry=registry).set(7)
    with (
        graveler.connect("memory://metrics-of-calls", metrics=registry) as store,
        MetricsServer(store, port=0, registry=registry) as server,
    ):
        assert "of_the_program 7.0" in scraped(server.url).splitlines()
        assert any(
            line.startswith('graveler_kv_seconds_count{verb="scan"}') for line in scraped(server.url).splitlines()
        )


def test_a_port_that_is_taken_is_refused_and_leaves_the_registry_as_it_was(store: Graveler) -> None:
    registry = CollectorRegistry()
    with MetricsServer(store, port=0) as first:
        port = int(first.url.rpartition(":")[2].partition("/")[0])
        with pytest.raises(InvalidInput, match=f"address '127.0.0.1', port {port}: cannot listen"):
            MetricsServer(store, port=port, registry=registry)
    assert list(registry.collect()) == []
    for _ in range(2):
        with MetricsServer(store, port=0, registry=registry) as server:
            assert "graveler_up" in scraped(server.url)
        assert list(registry.collect()) == []


def test_an_address_of_elsewhere_is_refused(store: Graveler) -> None:
    with pytest.raises(InvalidInput, match=r"address '192\.0\.2\.1', port 0"):
        MetricsServer(store, port=0, address="192.0.2.1")


def test_the_command_line_has_the_same_defaults() -> None:
    parameters = inspect.signature(verb.metrics).parameters
    assert (parameters["port"].default, parameters["branches"].default) == (PORT, MOST_BRANCHES)
