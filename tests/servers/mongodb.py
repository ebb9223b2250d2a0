"""A fake of MongoDB for tests: mongo-java-server in memory, which says of itself that it is a replica set.

There is no server of MongoDB in the package registries. The fake has the commands and the wire protocol, and executes
each write in one step. It ignores read and write concerns, and has no other members: what these are for cannot be
tested with it. Its class `FakeMongoDB` adds the answer to `hello` and the fail points with which MongoDB's own drivers
are tested. The compiler of Eclipse makes it once, because a Java runtime has none.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

from tests.servers.maven import jars, java
from tests.servers.packages import CACHE, made_once
from tests.servers.process import ServerProcess, listens, running

VERSION = "1.47.0"
_SOURCE = Path(__file__).with_name("FakeMongoDB.java")
_COMPILER = "3.41.0"


@contextmanager
def mongodb_server(kind: str = "replica-set") -> Iterator[ServerProcess]:
    """A running, empty server.

    Args:
        kind: What the server says of itself: `replica-set`, `standalone` or `sharded`.
    """
    library = jars(f"mongo-java-server-{VERSION}", f"de.bwaldvogel:mongo-java-server:{VERSION}")
    classes = _compiled(library)

    def command(port: int, directory: Path) -> list[str]:
        del directory
        path = os.pathsep.join((str(classes), f"{library}/*"))
        return [java(), "-Xmx256m", "-cp", path, "FakeMongoDB", str(port), kind]

    with running(command, listens, dict(os.environ)) as server:
        yield server


def fresh_collection(port: int, options: str = "") -> str:
    """The URL of a collection that does not exist.

    The driver connects to this port alone. Otherwise it would ask the server for its address, and leave out a network
    that is before it. It does not look at the server again and again, which would disturb the count of messages.

    Args:
        port: Port of the server, or of a network before it.
        options: Further options of the URL.
    """
    collection = f"test_{uuid4().hex}"
    fixed = "directConnection=true&heartbeatFrequencyMS=3600000"
    return f"mongodb://127.0.0.1:{port}/test?collection={collection}&{fixed}{options}"


def _compiled(library: Path) -> Path:
    directory = CACHE / f"mongodb-fake-{sha256(_SOURCE.read_bytes()).hexdigest()[:16]}"
    with made_once(directory) as unfinished:
        if unfinished:
            compiler = jars(f"ecj-{_COMPILER}", f"org.eclipse.jdt:ecj:{_COMPILER}")
            main = "org.eclipse.jdt.internal.compiler.batch.Main"
            path = os.pathsep.join(map(str, sorted(library.glob("*.jar"))))
            words = [java(), "-cp", f"{compiler}/*", main, "-17", "-cp", path, "-d", str(unfinished), str(_SOURCE)]
            done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            assert not done.returncode, done.stdout[-2_000:]
    return directory
