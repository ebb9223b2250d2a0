"""A running server in a thread of this process, for clients that speak HTTP."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import uvicorn
from starlette.types import ASGIApp

from graveler.server.http_protocol import HttpProtocol
from graveler.server.limits import RequestLimits
from graveler.server.serving import ServerOptions, application_of, listening
from graveler.server.task_runner import TaskRunner
from graveler_core.facade.graveler import Graveler
from graveler_core.model.credentials import Credentials
from graveler_core.model.iam import NewCredential
from graveler_core.model.secrets_keys import SecretsKeys
from graveler_core.stores.hooks import TagVerifier
from graveler_core.wiring.opening import open_stores
from graveler_core.wiring.users import sign_in

S3_DOMAIN = "s3.localhost"


@dataclass(frozen=True)
class RunningServer:
    """A server, the administrator's credential, and a handle of the administrator on the same store."""

    url: str
    root: str
    admin: NewCredential
    graveler: Graveler
    secrets_keys: SecretsKeys


@contextmanager
def running_server(
    store: str,
    root: str,
    storage_options: dict[str, str] | None = None,
    limits: RequestLimits | None = None,
    *,
    version_2: bool = False,
    verify_tag: TagVerifier | None = None,
    max_connections: int | None = None,
    local_files: tuple[str, ...] | None = None,
) -> Iterator[RunningServer]:
    """Set up access control in an empty store, and serve it until the end of the context.

    By default, users may name all files beside a local root.
    """
    if local_files is None:
        local_files = (str(Path(urlsplit(root).path).parent),) if root.startswith("file:") else ()
    tasks = TaskRunner()
    stores = open_stores(store, storage_options=storage_options)
    keys = SecretsKeys(SecretsKeys.new())
    try:
        admin = sign_in(stores, None).iam.set_up("ada", secrets_keys=keys)
        options = ServerOptions(
            port=0,
            storage_root=root,
            secrets_keys=keys,
            s3_domains=(S3_DOMAIN,),
            s3_signature_v2=version_2,
            verify_tag=verify_tag,
            local_files=local_files,
        )
        app = application_of(stores, options, tasks, limits)
        with running_application(app, options, max_connections) as url:
            yield RunningServer(url, root, admin, sign_in(stores, Credentials(admin.access_key_id, admin.secret)), keys)
    finally:
        stores.close()


@contextmanager
def running_application(app: ASGIApp, options: ServerOptions, max_connections: int | None = None) -> Iterator[str]:
    """Serve an application until the end of the context. Yield its address."""
    config = uvicorn.Config(
        app,
        http=HttpProtocol,
        limit_concurrency=max_connections,
        lifespan="off",
        log_level="warning",
        access_log=False,
    )
    server = uvicorn.Server(config)
    with listening(options) as socket:
        thread = threading.Thread(target=server.run, args=([socket],))
        thread.start()
        try:
            yield f"http://127.0.0.1:{socket.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()
