"""A real MariaDB for tests: the user root, without a password, and a database for each test."""

from __future__ import annotations

import getpass
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import pymysql

from tests.servers.packages import CACHE, Programs, made_once, programs
from tests.servers.process import ServerProcess, listens, running

PACKAGES = ("mariadb-server-core", "mariadb-client-core")
_SMALL = ("--innodb-log-file-size=16M", "--innodb-buffer-pool-size=64M")
NOT_SYNCED = ("--innodb-flush-method=nosync", "--sync-frm=0")
"""Options of a fast server: what it writes survives its end, but not the end of the machine."""


@contextmanager
def mariadb_server(options: Sequence[str] = NOT_SYNCED) -> Iterator[ServerProcess]:
    """A running, empty server.

    Args:
        options: Further options of the server.
    """
    found = programs("mariadbd", *PACKAGES)

    def command(port: int, directory: Path) -> list[str]:
        where = [f"--datadir={directory}/data", f"--socket={directory}/socket", f"--pid-file={directory}/pid"]
        address = ["--bind-address=127.0.0.1", f"--port={port}"]
        return [found.path("mariadbd"), *_shared(found), *where, *address, *options]

    with running(command, listens, found.environment, template=_empty_data(found)) as server:
        yield server


def fresh_database(server: ServerProcess) -> str:
    """The URL of an empty database of the server. It stays there as long as the server."""
    name = f"test_{uuid4().hex}"
    execute(server, f"CREATE DATABASE {name}")
    return f"mysql://root@127.0.0.1:{server.port}/{name}"


def execute(server: ServerProcess, *statements: str) -> list[tuple[object, ...]]:
    """Run statements as the user root, and return the rows of the last one."""
    connection = pymysql.connect(host="127.0.0.1", port=server.port, user="root", autocommit=True)
    try:
        with connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            return list(cursor.fetchall())
    finally:
        connection.close()


def _shared(found: Programs) -> list[str]:
    words = ["--no-defaults", f"--user={getpass.getuser()}", *_SMALL]
    if found.root is not None:
        usr = found.root / "usr"
        words += [f"--basedir={usr}", f"--lc-messages-dir={usr}/share/mysql", f"--plugin-dir={usr}/lib/mysql/plugin"]
    return words


def _empty_data(found: Programs) -> Path:
    """The directory of an empty server, made once: it takes longer to make than to copy."""
    directory = CACHE / "mariadb-data"
    with made_once(directory) as unfinished:
        if unfinished:
            install = [found.path("mariadb-install-db"), *_shared(found), f"--datadir={unfinished}"]
            install += ["--auth-root-authentication-method=normal", "--skip-test-db"]
            done = subprocess.run(
                install, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=found.environment, check=False
            )
            assert not done.returncode, done.stdout[-2_000:]
            shutil.copymode(unfinished.parent, unfinished)
    return directory
