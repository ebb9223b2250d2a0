"""`./run ui`: Dagster's web server and daemon on the installation that the demo created.

    python -m orchestration.ui [--port N] [--spark-from ROWS]

Uses `.graveler/` in the working directory. Without an earlier demo it is empty, and `flights_pipeline` can be run
there.
"""

from __future__ import annotations

import argparse
import os
import sys

from orchestration import local


def command(host: str, port: int) -> list[str]:
    """Run the web server, the daemon and the code servers of the workspace until interrupted."""
    # `dg dev` is another package, for another project layout, so the hint to use it is hidden from the user.
    program = [sys.executable, "-P", "-W", "ignore:Function `dev_command`", "-m", "dagster", "dev"]
    return [*program, "--workspace", str(local.WORKSPACE), "--host", host, "--port", str(port)]


def main(arguments: list[str] | None = None) -> None:
    """Start the web server as a child process, and wait for it."""
    parser = argparse.ArgumentParser(prog="./run ui", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default 127.0.0.1)")
    parser.add_argument("--port", type=int, default=3000, help="port to listen on (default 3000)")
    local.add_spark_from(parser)
    options = parser.parse_args(arguments)
    installation = local.here()
    installation.enter(options.spark_from)
    print(f"Dagster UI on http://{options.host}:{options.port}, data in {installation.root}", flush=True)
    os.execv(sys.executable, command(options.host, options.port))  # noqa: S606 (no shell is wanted)


if __name__ == "__main__":
    main()
