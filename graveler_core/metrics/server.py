"""HTTP server for Prometheus scrapes, on its own thread."""

from __future__ import annotations

from threading import Thread
from types import TracebackType
from wsgiref.simple_server import WSGIServer

from prometheus_client import CollectorRegistry, start_http_server

from graveler_core.errors import InvalidInput
from graveler_core.facade.graveler import Graveler
from graveler_core.metrics.collector import MOST_BRANCHES, StoreCollector

PORT = 9464
"""Default port of Prometheus exporters for applications."""
_LOOK = 0.5
"""Maximum number of seconds until an interruption is noticed."""


class MetricsServer:
    """Server that answers at `url` until it is closed. It uses plain HTTP without access control; keep it in a trusted
    network.

    It also serves all other metrics of the registry.
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
        """Start to serve.

        Args:
            graveler: Handle of the store.
            address: Local address to listen on.
            port: Port, or 0 for any free port; see `url`.
            most: Maximum number of branches in a scrape.
            registry: Registry with other metrics, for example those of `connect(metrics=…)`.

        Raises:
            InvalidInput: The address is not local, or the port is in use.
        """
        self._registry = CollectorRegistry() if registry is None else registry
        self._collector = StoreCollector(graveler, most)
        self._registry.register(self._collector)
        try:
            served: tuple[WSGIServer, Thread] = start_http_server(port, address, self._registry)
        except OSError as e:
            self._registry.unregister(self._collector)
            raise InvalidInput(f"address {address!r}, port {port}: cannot listen ({e.strerror})") from e
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
        """Wait until the server is closed, or an exception such as Ctrl-C interrupts."""
        # Use a timeout: a signal may reach another thread, and this thread only notices it when it wakes up.
        while self._thread.is_alive():
            self._thread.join(_LOOK)

    def close(self) -> None:
        """Stop serving and restore the registry. Idempotent."""
        if self._thread.is_alive():
            self._registry.unregister(self._collector)
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
