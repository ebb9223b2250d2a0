"""Azurite for tests, which is Microsoft's own emulator of Azure Blob Storage. Tests use containers of their own.

npm fetches it once into the cache of the checkout. It is an error if that fails.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import formatdate
from pathlib import Path
from urllib.parse import quote
from uuid import uuid4

from tests.servers.packages import CACHE, made_once
from tests.servers.process import ServerProcess, listens, running

VERSION = "3.35.0"
_ACCOUNT = "devstoreaccount1"
_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""The key of the account, which is the same in every emulator and no secret."""


@contextmanager
def azurite_server() -> Iterator[ServerProcess]:
    """A running server without containers. Its data are in memory."""
    directory = CACHE / f"azurite-{VERSION}"
    with made_once(directory) as unfinished:
        if unfinished:
            _fetch(unfinished)
    main = directory / "node_modules" / "azurite" / "dist" / "src" / "blob" / "main.js"
    node = shutil.which("node")
    assert node, "Azurite runs on Node.js: install the package nodejs"

    def command(port: int, directory: Path) -> list[str]:
        del directory
        options = ["--silent", "--inMemoryPersistence", "--skipApiVersionCheck", "--disableTelemetry"]
        return [node, str(main), *options, "--blobHost", "127.0.0.1", "--blobPort", str(port)]

    with running(command, listens, dict(os.environ)) as server:
        yield server


def fresh_container(server_port: int, port: int, options: str = "") -> str:
    """The URL of a store in a container that is empty.

    Args:
        server_port: Port of the server.
        port: Port in the URL: that of the server, or of a network before it.
        options: Further options of the URL.
    """
    container = f"test-{uuid4().hex}"
    headers = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": "2021-08-06"}
    words = ["PUT", *[""] * 11, *(f"{name}:{value}" for name, value in headers.items())]
    signed = "\n".join([*words, f"/{_ACCOUNT}/{_ACCOUNT}/{container}", "restype:container"])
    signature = base64.b64encode(hmac.digest(base64.b64decode(_KEY), signed.encode(), hashlib.sha256)).decode()
    request = urllib.request.Request(
        f"http://127.0.0.1:{server_port}/{_ACCOUNT}/{container}?restype=container",
        headers={**headers, "Authorization": f"SharedKey {_ACCOUNT}:{signature}"},
        method="PUT",
    )
    urllib.request.urlopen(request).close()
    access = f"account_name={_ACCOUNT}&account_key={quote(_KEY, safe='')}&allow_http=true"
    return f"az://{container}/lake?{access}&endpoint=http://127.0.0.1:{port}/{_ACCOUNT}{options}"


def _fetch(directory: Path) -> None:
    npm = shutil.which("npm")
    assert npm, "Azurite comes by npm: install the package npm"
    words = [npm, "install", "--no-audit", "--no-fund", "--prefix", str(directory), f"azurite@{VERSION}"]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert not done.returncode, done.stdout[-2_000:]
