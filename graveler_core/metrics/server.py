"""An HTTP server that Prometheus scrapes, on a thread of its own."""

from __future__ import annotations

from threading import Thread
from types import TracebackType
from wsgiref.simple_server import WSGIServer

from prometheus_client import CollectorRegistry, start_http_server

from graveler_core.errors import InvalidInput
from graveler_core.facade.graveler import Graveler
from graveler_core.metrics.collector import MOST_BRANCHES, StoreCollector

PORT = 9464
"""What exporters of metrics are asked at by custom."""
_LOOK = 0.5
"""Seconds in which an interruption is noticed."""


class MetricsServer:
    """Answers at `url`, until it is closed. Plain HTTP, and whoever reaches it may read: keep it in a trusted network.

    Whatever an embedding program has in the registry is told too.
    """

    def __init__(
        self,
        graveler: Graveler,
        *,
        address: str = "127.0.0.1",
        port: int = PORT,
        most: int = MOST_BRANCHES,
        registry: CollectorRegistry | None = None,
    ) -> None:
        """Begin to answer.

        Args:
            port: 0 for any that is free; `url` says which.
            most: As many branches as a scrape tells of.
            registry: Other metrics to tell of: those given to `connect(metrics=…)`, say.

        Raises:
            InvalidInput: the address is not one of this machine, or the port is taken.
        """
        self._registry = CollectorRegistry() if registry is None else registry
        self._collector = StoreCollector(graveler, most)
        self._registry.register(self._collector)
        try:
            served: tuple[WSGIServer, Thread] = start_http_server(port, address, self._registry)
        except OSError as e:
            self._registry.unregister(self._collector)
            raise InvalidInput(f"address {address!r}, port {port}: cannot be listened at ({e.strerror})") from e
        self._server, self._thread = served
        shown = f"[{address}]" if ":" in address else address
        self.url = f"http://{shown}:{self._server.server_port}/metrics"

    def __enter__(self) -> MetricsServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def wait(self) -> None:
        """Until somebody closes it, or an exception (Ctrl-C) ends the waiting."""
        # With a timeout: a signal may come to the other thread, and this one learns of it when it wakes up.
        while self._thread.is_alive():
            self._thread.join(_LOOK)

    def close(self) -> None:
        """Answer no longer, and leave the registry as it was. Idempotent."""
        if self._thread.is_alive():
            self._registry.unregister(self._collector)
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
