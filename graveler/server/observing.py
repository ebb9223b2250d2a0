"""Observation of requests: an id, an event in the access log, and metrics by operation.

Neither the log nor the metrics contain headers, queries, bodies, or paths of objects. The log names the user, the
metrics do not.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from graveler.server.shared_metrics import MetricsBoard, SummedMetrics, samples_of
from graveler_core.telemetry.events import tell

METRICS_PATH: Final = "/metrics"
SHARING_SECONDS: Final = 1.0
"""Seconds after which the other processes of the server know the metrics that a request has changed."""
METRICS_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_FACTS: Final = "graveler.request"
_BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120)


@dataclass(slots=True)
class RequestFacts:
    """Facts about a request that the application adds while it serves it."""

    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    operation: str = "unknown"
    user: str = ""


def facts_of(scope: Scope) -> RequestFacts:
    """Return the facts of a request, for the application to read and to change."""
    found: RequestFacts = scope.setdefault(_FACTS, RequestFacts())
    return found


class ServerMetrics:
    """Prometheus metrics of one process, shown as the sums of all processes that share them."""

    def __init__(self, board: MetricsBoard | None = None) -> None:
        """Create metrics without samples.

        Args:
            board: Memory that the processes of one server share; `None` for one process.
        """
        self._board = board
        self._slot = 0 if board is None else board.claim()
        self._writes_soon = False
        self.registry = CollectorRegistry()
        labels = ("operation", "status")
        self._requests = Counter(
            "graveler_server_requests", "Number of requests that were answered", labels, registry=self.registry
        )
        self._seconds = Histogram(
            "graveler_server_request_seconds",
            "Time from the beginning of a request to the end of its answer",
            ("operation",),
            buckets=_BUCKETS,
            registry=self.registry,
        )
        self._sent = Counter(
            "graveler_server_sent_bytes", "Bytes of the bodies of answers", ("operation",), registry=self.registry
        )
        self._running = Gauge("graveler_server_requests_running", "Requests under way", registry=self.registry)

    def begin(self) -> None:
        """Count a request that begins."""
        self._running.inc()

    def end(self, operation: str, status: int, sent: int, seconds: float) -> None:
        """Count a request that has ended."""
        self._running.dec()
        self._requests.labels(operation, str(status)).inc()
        self._seconds.labels(operation).observe(seconds)
        self._sent.labels(operation).inc(sent)
        if self._board is not None and not self._writes_soon:
            self._writes_soon = True
            asyncio.get_running_loop().call_later(SHARING_SECONDS, self._write, self._board)

    def shown(self) -> bytes:
        """Return all metrics in the text format of Prometheus."""
        if self._board is None:
            return generate_latest(self.registry)
        return generate_latest(SummedMetrics(self.registry, self._board.read(self._slot)))

    def _write(self, board: MetricsBoard) -> None:
        self._writes_soon = False
        board.write(self._slot, samples_of(self.registry))


class ObservedApplication:
    """An application whose requests are counted and logged. It answers requests for metrics itself."""

    def __init__(self, app: ASGIApp, metrics: ServerMetrics, is_s3: Callable[[Scope], bool]) -> None:
        """Create the application.

        Args:
            app: Application that answers all other requests.
            metrics: The metrics.
            is_s3: Tells requests to the S3 gateway, which may name a bucket in the same way as the metrics.
        """
        self._app = app
        self._metrics = metrics
        self._is_s3 = is_s3

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif scope["path"] == METRICS_PATH and scope["method"] == "GET" and not self._is_s3(scope):
            await _send_metrics(self._metrics.shown(), facts_of(scope).id, send)
        else:
            await self._observed(scope, receive, send)

    async def _observed(self, scope: Scope, receive: Receive, send: Send) -> None:
        facts, begun, answered = facts_of(scope), perf_counter(), _Answer(send)
        self._metrics.begin()
        try:
            await self._app(scope, receive, answered.send)
        finally:
            seconds = perf_counter() - begun
            self._metrics.end(facts.operation, answered.status, answered.sent, seconds)
            client = scope.get("client")
            tell(
                "request",
                logging.INFO,
                f"{facts.operation} {answered.status}",
                request_id=facts.id,
                method=scope["method"],
                operation=facts.operation,
                status=answered.status,
                sent_bytes=answered.sent,
                seconds=round(seconds, 6),
                user=facts.user,
                client=client[0] if client else "",
            )


class _Answer:
    """Status and size of an answer, noted on its way."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status = 0
        """0 if the client has gone before the answer began."""
        self.sent = 0

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
        elif message["type"] == "http.response.body":
            self.sent += len(message.get("body", b""))
        await self._send(message)


async def _send_metrics(body: bytes, id: str, send: Send) -> None:
    shown = {"content-type": METRICS_TYPE, "content-length": str(len(body)), "x-request-id": id}
    headers = [(name.encode(), value.encode()) for name, value in shown.items()]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})
