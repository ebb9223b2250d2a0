"""A Spark standalone cluster on this machine. It uses the master and workers of the installed PySpark package.

`python -m benchmarks.standalone COMMAND …` starts a cluster, a PostgreSQL server and an S3 server, and then runs a
command, or a shell. The command finds them in environment variables: `SPARK_MASTER_URL` for the master,
`GRAVELER_STORE` for PostgreSQL, and `AWS_…` for S3, which has the buckets `lake` and `raw`. When the command ends, all
servers stop and their files are deleted. docs/guides/spark-cluster.md explains the use.

Each worker has its own loopback address (127.0.0.1, 127.0.0.2, …), because Spark runs a speculative second attempt of a
task only on another host. The system chooses free ports. Executors inherit the environment of their worker, as on any
standalone cluster.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pyspark

from tests.postgresql_server import own_server
from tests.s3_server import S3Server, own_s3

BUCKETS = ("lake", "raw")
_PATIENCE = 300
"""Timeout in seconds for a daemon to become ready, and for a daemon to end."""
_SMALL = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
"""JVM options of the daemons, which do little work."""


@dataclass(frozen=True, slots=True)
class Machines:
    """Number of workers, and the resources of each."""

    count: int = 2
    cores: int = 1
    memory: str = "1g"


@dataclass(frozen=True, slots=True)
class Standalone:
    """A running cluster."""

    url: str
    """URL of the master, in the form that `spark-submit --master` accepts."""
    workers: tuple[subprocess.Popen[bytes], ...]
    directory: Path
    """Directory with the logs of the daemons, and a directory per worker with the logs of its executors."""


class NotReady(Exception):
    """Error: a daemon ended or did not become ready in time. The message contains the end of its log."""


@contextmanager
def standalone(
    directory: Path, machines: Machines = Machines(), environment: Mapping[str, str] | None = None
) -> Iterator[Standalone]:
    """Run a cluster until the `with` block ends.

    Args:
        directory: Directory for all files. The caller removes it.
        machines: Number and resources of the workers.
        environment: Environment variables of the workers and executors, in addition to those of this process.

    Yields:
        The running cluster.

    Raises:
        NotReady: A daemon did not start.
    """
    directory.mkdir(parents=True, exist_ok=True)
    given = {**os.environ, "SPARK_DAEMON_JAVA_OPTS": _SMALL, "PYSPARK_PYTHON": sys.executable, **(environment or {})}
    with ExitStack() as running:
        place = _Place(directory / "master", "127.0.0.1", given)
        master = running.enter_context(_running(place, "master.Master", []))
        url = master.said(r"Starting Spark master at (spark://\S+)")
        workers = []
        for number in range(1, machines.count + 1):
            place = _Place(directory / f"worker-{number}", f"127.0.0.{number}", given)
            has = ["--cores", str(machines.cores), "--memory", machines.memory, "--work-dir", str(place.home)]
            workers.append(running.enter_context(_running(place, "worker.Worker", [*has, url])))
        for worker in workers:
            worker.said(r"(Successfully registered) with master")
        yield Standalone(url, tuple(worker.process for worker in workers), directory)


@dataclass(frozen=True, slots=True)
class _Place:
    """Directory, address and environment of a daemon."""

    home: Path
    host: str
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Daemon:
    """A running master or worker."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    def said(self, pattern: str) -> str:
        """Wait until a line of the log matches a pattern, and return the first group of the match."""
        deadline = time.monotonic() + _PATIENCE
        while not (found := re.search(pattern, self.log.read_text(errors="replace"))):
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise NotReady(f"{self.name} does not start:\n{self.log.read_text(errors='replace')[-4_000:]}")
            time.sleep(0.05)
        return found.group(1)


@contextmanager
def _running(place: _Place, name: str, arguments: Sequence[str]) -> Iterator[_Daemon]:
    place.home.mkdir()
    program = Path(pyspark.__file__).with_name("bin") / "spark-class"
    # The web UI listens on SPARK_LOCAL_IP, so it is reachable from this machine only.
    own = {"SPARK_LOCAL_IP": place.host, "SPARK_LOCAL_DIRS": str(place.home / "scratch")}
    command = [
        str(program),
        f"org.apache.spark.deploy.{name}",
        "--host",
        place.host,
        "--port",
        "0",
        "--webui-port",
        "0",
    ]
    log = place.home / "daemon.log"
    with log.open("wb") as file:
        process = subprocess.Popen(
            [*command, *arguments],
            cwd=place.home,
            env={**place.environment, **own},
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # an interrupt at the terminal must reach only the command, not the daemons
        )
    try:
        yield _Daemon(name, process, log)
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Terminate a daemon, and kill it after a timeout. A worker that is terminated also ends its executors."""
    process.terminate()
    try:
        process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextmanager
def shared() -> Iterator[dict[str, str]]:
    """Run an empty PostgreSQL server and an empty S3 server. Yield the environment variables that point to them."""
    with own_server() as postgresql, own_s3() as s3:
        for bucket in BUCKETS:
            s3.make_bucket(bucket)
        yield {"GRAVELER_STORE": postgresql.url, **aws(s3)}


def aws(s3: S3Server) -> dict[str, str]:
    """Return the environment variables with which object store clients find an S3 server."""
    return {
        "AWS_ENDPOINT": s3.endpoint,
        "AWS_ALLOW_HTTP": "true",
        "AWS_REGION": s3.options["region"],
        "AWS_ACCESS_KEY_ID": s3.options["access_key_id"],
        "AWS_SECRET_ACCESS_KEY": s3.options["secret_access_key"],
    }


def main() -> None:
    """Run the command in the arguments, or a shell, and exit with its exit code."""
    command = sys.argv[1:] or [os.environ.get("SHELL", "sh")]
    signal.signal(signal.SIGINT, lambda *_: None)  # only the command handles it; handlers are not inherited
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with ExitStack() as running:
        directory = Path(running.enter_context(TemporaryDirectory(prefix="graveler-cluster-")))
        given = running.enter_context(shared())
        cluster = running.enter_context(standalone(directory / "spark", environment=given))
        given |= {"SPARK_MASTER_URL": cluster.url, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
        print(f"{cluster.url}, logs below {cluster.directory}; all servers stop when the command ends", file=sys.stderr)
        code = subprocess.call(command, env={**os.environ, **given})
    sys.exit(code)


if __name__ == "__main__":
    main()
