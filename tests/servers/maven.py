"""Servers from Maven's central repository: the libraries of a server, copied into the cache of the checkout.

Maven fetches them once, for all workers and runs. It is an error if that fails.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from tests.servers.packages import CACHE, made_once

SHORT_LIVED_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Options of Java for a few minutes: one compiler, and a garbage collector without threads of its own."""
_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
_DEPENDENCY = (
    "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version>"
    "<exclusions>{}</exclusions></dependency>"
)
_EXCLUSION = "<exclusion><groupId>{}</groupId><artifactId>{}</artifactId></exclusion>"
_POM = """
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>tests</groupId><artifactId>servers</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>{}</dependencies>
</project>
"""


def jars(name: str, *artifacts: str, without: tuple[str, ...] = ()) -> Path:
    """The directory with artifacts and all that they need.

    Args:
        name: Name of the directory, with the version.
        artifacts: Group, name and version of each, separated by colons.
        without: Group and name of artifacts that they name and do not need.
    """
    directory = CACHE / name
    excluded = "".join(_EXCLUSION.format(*each.split(":")) for each in without)
    dependencies = "".join(_DEPENDENCY.format(*each.split(":"), excluded) for each in artifacts)
    with made_once(directory) as unfinished:
        if unfinished:
            _fetch(artifacts[0], _POM.format(dependencies), unfinished)
    return directory


def java() -> str:
    """The program that runs Java."""
    return str(Path(os.environ["JAVA_HOME"], "bin", "java")) if os.environ.get("JAVA_HOME") else "java"


def _fetch(first: str, project: str, directory: Path) -> None:
    maven = shutil.which("mvn")
    assert maven, f"{first} comes by Maven: install the package maven"
    pom = directory.with_suffix(".pom")
    pom.write_text(project, "utf-8")
    try:
        words = [maven, "-q", "-B", "-f", str(pom), _COPY, "-DincludeScope=runtime", f"-DoutputDirectory={directory}"]
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        assert not done.returncode, done.stdout[-2_000:]
    finally:
        pom.unlink()
