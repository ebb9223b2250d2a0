"""Run of esti, the system tests of lakeFS, against this project's server. They come from a copy of lakeFS's source.

    python -m tests.foreign.esti PATH_OF_LAKEFS_SOURCE [--run PATTERN] [--log FILE] [--binaries DIRECTORY]

builds the tests and the programs `lakectl` and `lakefs` with Go, starts PostgreSQL, an S3 server and `graveler serve`,
runs the tests, and prints how many passed, failed and were skipped, with the names of those that did not pass.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import graveler
from graveler import SecretsKeys
from tests.postgresql_server import own_server
from tests.servers import s3

_RESULT: Final = re.compile(r"--- (PASS|FAIL|SKIP): (\w+) \(")
"""Result of a test function. Those of their parts are indented, and have names with slashes."""
_ENDS_THE_RUN: Final = "^(TestDownloadMetadataObject|TestPreSign)$"
"""Tests that read a file of lakeFS's own format, and end the whole program if there is none."""
_PROGRAMS: Final = ("lakectl", "lakefs")


@dataclass(frozen=True)
class _Lake:
    """A running server, and the credentials of its administrator."""

    port: int
    access_key_id: str
    secret: str
    bucket: str


def run(source: Path, binaries: Path, pattern: str, log: Path) -> dict[str, list[str]]:
    """Run the tests.

    Args:
        source: Copy of lakeFS's source.
        binaries: Directory for the compiled tests and programs. What it has is taken as it is.
        pattern: Regular expression of the names of tests, as for `go test -run`.
        log: File for the output of the tests.

    Returns:
        Names of test functions by result: `PASS`, `FAIL`, `SKIP`.
    """
    _build(source, binaries)
    with _serving() as lake, log.open("w") as output:
        environment = {
            **os.environ,
            "ESTI_ENDPOINT_URL": f"http://127.0.0.1:{lake.port}",
            "ESTI_S3_ENDPOINT": f"127.0.0.1:{lake.port}",
            "ESTI_FORCE_PATH_STYLE": "true",
            "ESTI_SETUP_LAKEFS": "false",
            "ESTI_ACCESS_KEY_ID": lake.access_key_id,
            "ESTI_SECRET_ACCESS_KEY": lake.secret,
            "ESTI_STORAGE_NAMESPACE": f"s3://{lake.bucket}/esti",
            "ESTI_BLOCKSTORE_TYPE": "s3",
            "ESTI_BINARIES_DIR": str(binaries),
            "ESTI_VERSION": "dev",
            "TEST_WEBHOOK_HOST": "127.0.0.1",
        }
        command = [str(binaries / "esti.test"), "-test.v", "-test.timeout=30m", f"-test.run={pattern}"]
        command += [f"-test.skip={_ENDS_THE_RUN}", "-system-tests"]
        subprocess.run(command, cwd=source / "esti", env=environment, stdout=output, stderr=output, check=False)
    results: dict[str, list[str]] = {"PASS": [], "FAIL": [], "SKIP": []}
    for line in log.read_text(errors="replace").splitlines():
        if found := _RESULT.match(line):
            results[found[1]].append(found[2])
    return results


def _build(source: Path, binaries: Path) -> None:
    binaries.mkdir(parents=True, exist_ok=True)
    for program in _PROGRAMS:
        if not (binaries / program).exists():
            subprocess.run(["go", "build", "-o", binaries / program, f"./cmd/{program}"], cwd=source, check=True)
    if not (binaries / "esti.test").exists():
        subprocess.run(["go", "test", "-c", "-o", binaries / "esti.test", "./esti"], cwd=source, check=True)


@contextmanager
def _serving() -> Iterator[_Lake]:
    """Run `graveler serve` on PostgreSQL and an S3 server, with the administrator `esti`."""
    keys = SecretsKeys.new().get_secret_value()
    with own_server() as postgresql, s3.s3_server() as objects, TemporaryDirectory() as directory:
        bucket = s3.made_bucket(objects.port, "esti")
        with graveler.connect(postgresql.url) as g:
            admin = g.iam.set_up("esti", secrets_keys=SecretsKeys(keys))
        environment = {
            **os.environ,
            **s3.environment(objects.port),
            "GRAVELER_STORE": postgresql.url,
            "GRAVELER_DATA": f"s3://{bucket}",
            "GRAVELER_SERVER_KEY": keys,
            "GRAVELER_CONFIG": "",
        }
        command = [str(Path(sys.executable).parent / "graveler"), "--json", "serve", "--port", "0", "--s3-signature-v2"]
        command.append("--presign")
        with Path(directory, "server.log").open("w") as log:
            process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=log, text=True)
            assert process.stdout is not None
            try:
                url = json.loads(process.stdout.readline())["url"]
                port = int(url.rpartition(":")[2])
                yield _Lake(port, str(admin.access_key_id), admin.secret.get_secret_value(), bucket)
            finally:
                process.kill()
                process.wait()
                print(Path(directory, "server.log").read_text()[-4000:])


def _main() -> None:
    parser = argparse.ArgumentParser(description="Run lakeFS's system tests against graveler's server.")
    parser.add_argument("source", type=Path)
    parser.add_argument("--run", default=".")
    parser.add_argument("--log", type=Path, default=Path("esti.log"))
    parser.add_argument("--binaries", type=Path)
    given = parser.parse_args()
    source = given.source.resolve()
    results = run(source, (given.binaries or source / "bin").resolve(), given.run, given.log.resolve())
    print(", ".join(f"{len(names)} {result}" for result, names in results.items()))
    for result in ("FAIL", "SKIP"):
        print(f"{result}: {' '.join(results[result])}")


if __name__ == "__main__":
    _main()
