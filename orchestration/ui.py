"""`./run ui`: Dagster's web server and daemon on the installation that the demo created.

    python -m orchestration.ui [--port N] [--workspace FILE] [--spark-from ROWS]

Uses `.graveler/` in the working directory. Without an earlier demo it is empty, and `flights_pipeline` can be run
there.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

import dagster as dg

from orchestration import local
from orchestration.progress import WATCH_TAG

_GRACE_SECONDS = 3.0
"""Time for Dagster's processes to end by themselves. Then they are killed."""


def command(host: str, port: int, workspace: str = str(local.WORKSPACE)) -> list[str]:
    """Return the command that runs the web server, the daemon and the code servers of a workspace."""
    # `dg dev` is another package, for another project layout, so the hint to use it is hidden from the user.
    program = [sys.executable, "-P", "-W", "ignore:Function `dev_command`", "-m", "dagster", "dev"]
    return [*program, "--workspace", workspace, "--host", host, "--port", str(port)]


def serve(program: list[str]) -> int:
    """Run a program until it ends, or until this process is interrupted or terminated.

    Args:
        program: The command. It runs in a process group of its own, which ends with it.

    Returns:
        The exit status of the program; 0 if this process was interrupted or terminated.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    process = subprocess.Popen(program, start_new_session=True)  # noqa: S603 (the command above)
    try:
        return process.wait()
    except KeyboardInterrupt:
        return 0
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the end is under way
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        _end(process)


def fail_interrupted_runs(instance: dg.DagsterInstance) -> None:
    """Mark runs as failed if their processes ended together with an earlier UI. Otherwise they would block the queue.

    Runs of the demo are not marked, because the demo may be running in a process of its own.

    Args:
        instance: The instance of the installation, which no other UI uses.
    """
    under_way = [dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.CANCELING]
    for run in instance.get_runs(dg.RunsFilter(statuses=under_way)):
        if WATCH_TAG not in run.tags:
            instance.report_run_failed(run, "The UI that had started this run ended during the run.")


def _end(process: subprocess.Popen[bytes]) -> None:
    """End all processes of a group."""
    deadline = time.monotonic() + _GRACE_SECONDS
    with suppress(ProcessLookupError):  # none is left
        os.killpg(process.pid, signal.SIGTERM)
        while time.monotonic() < deadline:
            process.poll()
            os.killpg(process.pid, 0)
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def main(arguments: list[str] | None = None) -> None:
    """Start Dagster, and wait for it."""
    parser = argparse.ArgumentParser(prog="./run ui", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default 127.0.0.1)")
    parser.add_argument("--port", type=int, default=3000, help="port to listen on (default 3000)")
    parser.add_argument(
        "--workspace", default=str(local.WORKSPACE), help="Dagster workspace to load (default: that of this project)"
    )
    local.add_spark_from(parser)
    local.add_store(parser)
    options = parser.parse_args(arguments)
    installation = local.here(options.store)
    installation.enter(options.spark_from)
    with dg.DagsterInstance.get() as instance:
        fail_interrupted_runs(instance)
    print(f"Dagster UI on http://{options.host}:{options.port}, data in {installation.root}", flush=True)
    sys.exit(serve(command(options.host, options.port, options.workspace)))


if __name__ == "__main__":
    main()
