"""`graveler metrics`: tells Prometheus what is staged and what compactions did."""

from __future__ import annotations

from typing import Annotated

import typer

from graveler_core.cli.session import Session, verb


def register(app: typer.Typer) -> None:
    """Add this verb to the application."""
    verb(app, "metrics")(metrics)


def metrics(
    session: Session,
    port: Annotated[int, typer.Option(metavar="N", min=0, max=65_535, help="0 for any that is free.")] = 9464,
    address: Annotated[str, typer.Option(metavar="ADDRESS", help="Where to listen; 0.0.0.0 for everywhere.")] = (
        "127.0.0.1"
    ),
    branches: Annotated[int, typer.Option(metavar="N", min=1, help="Tell of so many branches at most.")] = 1_000,
) -> None:
    """Serve metrics to Prometheus over HTTP, until it is interrupted (Ctrl-C). They are read at each scrape.

    Whoever reaches the port may read them; names of repositories and branches are among them.

    JSON: one document with url, once it is served.
    """
    from prometheus_client import CollectorRegistry

    from graveler_core.metrics import MetricsServer

    registry = CollectorRegistry()
    with (
        session.connect(metrics=registry) as graveler,
        MetricsServer(graveler, address=address, port=port, most=branches, registry=registry) as server,
    ):
        session.out.result({"url": server.url}, f"serving metrics at {server.url}")
        session.out.flush()
        server.wait()
