"""A real etcd for tests: one member, without users. Tests use prefixes of their own."""

from __future__ import annotations

import ssl
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from tests.servers.packages import programs
from tests.servers.process import ServerProcess, free_port, running


@contextmanager
def etcd_server(options: Sequence[str] = (), certificates: Path | None = None) -> Iterator[ServerProcess]:
    """A running, empty server.

    Args:
        options: Further options of the server.
        certificates: Directory with `ca.pem`, `cert.pem` and `key.pem`. The server then uses TLS, and requires a
            certificate of its clients.
    """
    found = programs("etcd", "etcd-server")
    peer = f"http://127.0.0.1:{free_port()}"

    def command(port: int, directory: Path) -> list[str]:
        clients = f"{'http' if certificates is None else 'https'}://127.0.0.1:{port}"
        return [
            found.path("etcd"),
            *("--data-dir", f"{directory}/data/etcd", "--logger", "zap", "--log-level", "error"),
            *("--listen-client-urls", clients, "--advertise-client-urls", clients),
            *("--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer),
            *("--initial-cluster", f"default={peer}"),
            *options,
        ]

    if certificates is not None:
        files = (certificates / name for name in ("ca.pem", "cert.pem", "key.pem"))
        names = ("--trusted-ca-file", "--cert-file", "--key-file")
        pairs = (word for name, file in zip(names, files, strict=True) for word in (name, str(file)))
        options = (*options, "--client-cert-auth", *pairs)

    with running(command, partial(_healthy, certificates=certificates), found.environment) as server:
        yield server


def _healthy(port: int, certificates: Path | None) -> bool:
    """True if the member has a leader."""
    context = None
    if certificates is not None:
        context = ssl.create_default_context(cafile=str(certificates / "ca.pem"))
        context.load_cert_chain(certificates / "cert.pem", certificates / "key.pem")
    scheme = "http" if context is None else "https"
    with urllib.request.urlopen(f"{scheme}://127.0.0.1:{port}/health", timeout=5, context=context) as answer:
        return b'"true"' in answer.read()
