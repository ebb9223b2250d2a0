"""A running server in a thread of this process, for clients that speak HTTP."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import uvicorn

from graveler.server.api.call import ApiSettings
from graveler.server.application import ServerParts, create_application
from graveler.server.limits import RequestLimits
from graveler.server.observing import ObservedApplication, ServerMetrics
from graveler.server.serving import ServerOptions, listening, users_of
from graveler.server.task_runner import TaskRunner
from graveler_core.facade.graveler import Graveler
from graveler_core.model.credentials import Credentials
from graveler_core.model.iam import NewCredential
from graveler_core.wiring import open_stores, sign_in


@dataclass(frozen=True)
class RunningServer:
    """A server, the administrator's credential, and a handle of the administrator on the same store."""

    url: str
    root: str
    admin: NewCredential
    graveler: Graveler


@contextmanager
def running_server(
    store: str, root: str, storage_options: dict[str, str] | None = None, limits: RequestLimits | None = None
) -> Iterator[RunningServer]:
    """Set up access control in an empty store, and serve it until the end of the context."""
    tasks = TaskRunner()
    stores = open_stores(store, storage_options=storage_options)
    try:
        admin = sign_in(stores, None).iam.set_up("ada")
        options = ServerOptions(port=0)
        parts = ServerParts(users_of(stores, options), ApiSettings(root), tasks, limits or RequestLimits(0, 64))
        app = ObservedApplication(create_application(parts), ServerMetrics())
        server = uvicorn.Server(uvicorn.Config(app, lifespan="off", log_level="warning", access_log=False))
        with listening(options) as socket:
            thread = threading.Thread(target=server.run, args=([socket],))
            thread.start()
            try:
                url = f"http://127.0.0.1:{socket.getsockname()[1]}"
                yield RunningServer(url, root, admin, sign_in(stores, Credentials(admin.access_key_id, admin.secret)))
            finally:
                server.should_exit = True
                thread.join()
    finally:
        stores.close()
