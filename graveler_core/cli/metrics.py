"""`graveler metrics`: serve metrics of staged changes and compactions to Prometheus."""

from __future__ import annotations

from typing import Annotated

import typer

from graveler_core.cli.session import Session, verb

app = typer.Typer()


@verb(app, "metrics")
def metrics(
    session: Session,
    port: Annotated[
        int, typer.Option(metavar="N", min=0, max=65_535, help="Port to listen on; 0 for any free port.")
    ] = 9464,
    address: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Address to listen on; 0.0.0.0 for all interfaces.")
    ] = ("127.0.0.1"),
    branches: Annotated[int, typer.Option(metavar="N", min=1, help="Maximum number of branches to report.")] = 1_000,
) -> None:
    """Serve metrics to Prometheus over HTTP until interrupted with Ctrl-C. They are read from the store at each scrape.

    There is no authentication: everyone who can reach the port sees the names of repositories and branches.

    JSON: one document with url, written when the server is ready.
    """
    from graveler_core.extras import requires

    with requires("metrics"):
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
