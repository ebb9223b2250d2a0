"""`graveler serve`: a server over the store, for clients that speak HTTP."""

from __future__ import annotations

import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated, Final

import typer

from graveler_core.cli.credentials import SecretsKeyFile
from graveler_core.cli.pairs import pairs
from graveler_core.cli.session import Session, verb
from graveler_core.documents.text import visible
from graveler_core.errors import Unavailable
from graveler_core.extras import requires

_GROUP: Final = "graveler.servers"

app = typer.Typer()


@verb(app, "serve")
def serve(  # noqa: PLR0913 - options of the command
    session: Session,
    *,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on. 0 means any free port.")] = 8000,
    tls_cert: Annotated[Path | None, typer.Option(metavar="FILE", help="Certificate, in PEM form.")] = None,
    tls_key: Annotated[Path | None, typer.Option(metavar="FILE", help="Private key of the certificate.")] = None,
    open_to_all: Annotated[
        bool,
        typer.Option(
            "--open",
            help="Serve a store without access control. Only on a loopback address: everyone may do everything.",
        ),
    ] = False,
    local_files: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="DIRECTORY",
            help="Directory besides the one of GRAVELER_DATA whose files users may name as file://…; may be repeated.",
        ),
    ] = None,
    presign: Annotated[
        bool,
        typer.Option(
            "--presign",
            help="Tell clients to read and write content by signed URLs, straight from the object store. All "
            "repositories must then be in object stores that sign URLs, and clients must reach them.",
        ),
    ] = False,
    rate: Annotated[
        float, typer.Option(min=0, help="Requests per second that one user may send. 0 means any number.")
    ] = 0,
    max_uploads: Annotated[int, typer.Option(min=1, help="Number of uploads that are received at once.")] = 64,
    s3_domain: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HOST", help="Host below which an S3 bucket is a subdomain, besides the form /bucket/key."
        ),
    ] = None,
    s3_signature_v2: Annotated[
        bool,
        typer.Option("--s3-signature-v2", help="Accept signatures of version 2, which protect less, from old clients."),
    ] = False,
    secrets_key_file: SecretsKeyFile = None,
    max_connections: Annotated[
        int, typer.Option(min=1, help="Number of connections from which on requests are refused with 503.")
    ] = 1_000,
    processes: Annotated[
        int, typer.Option(min=1, help="Number of processes that serve the address; not for a store in memory.")
    ] = 1,
    storage_option: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="Option of the object stores; may be repeated. No secrets."),
    ] = None,
) -> None:
    """Serve the API of lakeFS and S3 over the store, until the process is told to stop.

    Clients authenticate with an access key and its secret: see `graveler iam`. Clients of S3 need an access key whose
    secret is kept: `graveler iam credential create --s3`. Requests under way are finished before the server stops.
    Limits count for each process of the server.

    JSON: one document with url, when the server accepts requests.
    """
    session.log()
    with requires("server"):
        found = next(iter(entry_points(group=_GROUP, name="lakefs")), None)
        if found is None:
            raise Unavailable("no server is installed: pip install 'graveler[server]'")
        run = found.load()

    def started(url: str) -> None:
        session.out.result({"url": url}, f"serving {visible(url)}; stop with Ctrl-C")
        sys.stdout.flush()

    run(
        session.store_url,
        pairs("storage option", storage_option or []),
        started,
        host=host,
        port=port,
        open=open_to_all,
        storage_root=session.settings.data,
        tls_certificate=None if tls_cert is None else str(tls_cert),
        tls_key=None if tls_key is None else str(tls_key),
        local_files=tuple(map(str, local_files or ())),
        presign=presign,
        rate=rate,
        max_uploads=max_uploads,
        max_connections=max_connections,
        processes=processes,
        secrets_keys=session.secrets_keys(secrets_key_file),
        s3_domains=tuple(s3_domain or ()),
        s3_signature_v2=s3_signature_v2,
        verify_tag=session.tag_verifier(),
    )
