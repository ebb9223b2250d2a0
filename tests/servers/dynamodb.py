"""DynamoDB Local for tests, which is Amazon's own. Tests use tables of their own.

Maven fetches the server once into the cache of the checkout. It is an error if that fails.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from tests.servers.packages import CACHE, made_once
from tests.servers.process import ServerProcess, running, says

VERSION = "3.1.0"
_POM = f"""
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>tests</groupId><artifactId>servers</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>software.amazon.dynamodb</groupId><artifactId>DynamoDBLocal</artifactId><version>{VERSION}</version>
    </dependency>
  </dependencies>
</project>
"""
_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
_MAIN = "software.amazon.dynamodb.services.local.main.ServerRunner"


@contextmanager
def dynamodb_server() -> Iterator[ServerProcess]:
    """A running server without tables. Its data are in memory."""
    library = CACHE / f"dynamodb-{VERSION}"
    with made_once(library) as unfinished:
        if unfinished:
            _fetch(unfinished)
    java = Path(os.environ["JAVA_HOME"], "bin", "java") if os.environ.get("JAVA_HOME") else Path("java")

    def command(port: int, directory: Path) -> list[str]:
        del directory
        options = ["-Xmx256m", f"-Djava.library.path={library}", "-cp", f"{library}/*"]
        return [str(java), *options, _MAIN, "-port", str(port), "-inMemory", "-sharedDb", "-disableTelemetry"]

    def ready(port: int) -> bool:
        return says(port, b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", b"HTTP/1.1 ")

    with running(command, ready, dict(os.environ)) as server:
        yield server


def fresh_table(port: int, options: str = "") -> str:
    """The URL of a table that does not exist.

    Args:
        port: Port of the server, or of a network before it.
        options: Further options of the URL.
    """
    return f"dynamodb://key:secret@test_{uuid4().hex}?region=us-east-1&endpoint=http://127.0.0.1:{port}{options}"


def _fetch(directory: Path) -> None:
    maven = shutil.which("mvn")
    assert maven, "DynamoDB Local comes by Maven: install the package maven"
    pom = directory.with_suffix(".pom")
    pom.write_text(_POM, "utf-8")
    try:
        words = [maven, "-q", "-B", "-f", str(pom), _COPY, "-DincludeScope=runtime", f"-DoutputDirectory={directory}"]
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        assert not done.returncode, done.stdout[-2_000:]
    finally:
        pom.unlink()
