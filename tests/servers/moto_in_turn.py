"""moto's S3 that executes one request at a time. Start it with a port of the loopback interface as its argument.

moto reads the ETag of an object and replaces the object later, so of several conditional writes at the same time more
than one can succeed. A real service executes each of them in one step.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterable
from threading import Lock
from typing import Any

from moto.server import MotoRequestHandler, create_backend_app
from werkzeug.serving import run_simple

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


def in_turn(application: Application) -> Application:
    """The same application, which begins a request when the one before has been executed."""
    lock = Lock()

    def execute(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        # A slow client keeps no other waiting.
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        with lock:
            return list(application({**environ, "wsgi.input": io.BytesIO(body)}, start_response))

    return execute


if __name__ == "__main__":
    # Only S3: to find the service of a request, moto would look at two hundred directories for each one.
    moto = in_turn(create_backend_app("s3"))
    run_simple("127.0.0.1", int(sys.argv[1]), moto, threaded=True, request_handler=MotoRequestHandler)
