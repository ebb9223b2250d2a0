"""A Spark standalone cluster on this machine: PySpark's own master and workers, nothing downloaded.

`python -m benchmarks.standalone COMMAND …` runs a command, or a shell, beside one and beside what the machines of a
cluster share: a PostgreSQL (`GRAVELER_STORE`), an S3 (`AWS_…`) with the buckets `lake` and `raw`. `SPARK_MASTER_URL`
names the master. All of it ends with the command, and leaves nothing. docs/guides/spark-cluster.md says how to use it.

Each worker is a machine of its own, with its own address (127.0.0.1, 127.0.0.2, …: Linux has all of them): Spark runs
two attempts at a task on two hosts or not at all. Ports are free ones that the system chooses. Executors get the
environment of their worker, as on any standalone cluster.
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
from tests.s3_server import S3Server, serving

BUCKETS = ("lake", "raw")
_PATIENCE = 300
"""Seconds after which a daemon that does not say that it is ready, or does not end, is given up."""
_SMALL = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
"""Of the daemons, which do little."""


@dataclass(frozen=True, slots=True)
class Machines:
    """How many there are, and what each has."""

    count: int = 2
    cores: int = 1
    memory: str = "1g"


@dataclass(frozen=True, slots=True)
class Standalone:
    """A running cluster."""

    url: str
    """Of the master, as `spark-submit --master` takes it."""
    workers: tuple[subprocess.Popen[bytes], ...]
    directory: Path
    """Its logs; below it each worker's directory, with the logs of its executors."""


class NotReady(Exception):
    """A daemon has ended, or does not get ready; with its last words."""


@contextmanager
def standalone(
    directory: Path, machines: Machines = Machines(), environment: Mapping[str, str] | None = None
) -> Iterator[Standalone]:
    """A cluster, as long as somebody works with it.

    Args:
        directory: Where its files go. Whoever asks removes it.
        machines: Its workers.
        environment: Variables of the workers, and so of their executors, besides those of this process.

    Raises:
        NotReady: a daemon did not start.
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
    """Where a master or a worker lives."""

    home: Path
    host: str
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Daemon:
    """A master or a worker that runs."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    def said(self, pattern: str) -> str:
        """Wait until its log says something; gives the first group of it."""
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
    # The web page too is for this machine alone: it listens at SPARK_LOCAL_IP.
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
            start_new_session=True,  # an interrupt at the terminal is for what runs beside it
        )
    try:
        yield _Daemon(name, process, log)
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """A worker that is asked to end ends its executors."""
    process.terminate()
    try:
        process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextmanager
def shared() -> Iterator[dict[str, str]]:
    """What all machines reach, as variables of their environment: a key-value store and an object store, empty."""
    with own_server() as postgresql, contextmanager(serving)() as s3:
        for bucket in BUCKETS:
            s3.make_bucket(bucket)
        yield {"GRAVELER_STORE": postgresql.url, **aws(s3)}


def aws(s3: S3Server) -> dict[str, str]:
    """How to reach an S3, as object stores look for it in the environment."""
    return {
        "AWS_ENDPOINT": s3.endpoint,
        "AWS_ALLOW_HTTP": "true",
        "AWS_REGION": s3.options["region"],
        "AWS_ACCESS_KEY_ID": s3.options["access_key_id"],
        "AWS_SECRET_ACCESS_KEY": s3.options["secret_access_key"],
    }


def main() -> None:
    """Run the command that the arguments give, or a shell, and end as it ends."""
    command = sys.argv[1:] or [os.environ.get("SHELL", "sh")]
    signal.signal(signal.SIGINT, lambda *_: None)  # it is for the command; a handler is not inherited
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with ExitStack() as running:
        directory = Path(running.enter_context(TemporaryDirectory(prefix="graveler-cluster-")))
        given = running.enter_context(shared())
        cluster = running.enter_context(standalone(directory / "spark", environment=given))
        given |= {"SPARK_MASTER_URL": cluster.url, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
        print(f"{cluster.url}, logs below {cluster.directory}; all of it ends with the command", file=sys.stderr)
        code = subprocess.call(command, env={**os.environ, **given})
    sys.exit(code)


if __name__ == "__main__":
    main()
