"""Run of esti, the system tests of lakeFS, against this project's server. They come from a copy of lakeFS's source.

    python -m tests.foreign.esti PATH_OF_LAKEFS_SOURCE [--run PATTERN] [--log FILE] [--binaries DIRECTORY]

builds the tests and the programs `lakectl` and `lakefs` with Go, starts PostgreSQL, an S3 server and `graveler serve`,
runs the tests, and prints how many passed, failed and were skipped, with the names of those that did not pass. The S3
server has a bucket like the one from which the tests import. With `--any-address`, the tests accept the form that
graveler gives to the names of objects, `data/` and 32 digits. Nothing else of the tests is changed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
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
_THEIR_ADDRESS: Final = "/data/[0-9a-v]{20}/(?:[0-9a-v]{20}(?:,.+)?)?"
_OUR_ADDRESS: Final = "/data/[0-9a-f]{32}"
_IMPORTING: Final = "TestImport"
"""One of the tests that import."""
_IMPORTED: Final = "esti-system-testing-data"
_PROGRAMS: Final = ("lakectl", "lakefs")


@dataclass(frozen=True)
class _Lake:
    """A running server, and the credentials of its administrator."""

    port: int
    access_key_id: str
    secret: str
    bucket: str


def run(source: Path, binaries: Path, pattern: str, log: Path, *, any_address: bool) -> dict[str, list[str]]:
    """Run the tests.

    Args:
        source: Copy of lakeFS's source.
        binaries: Directory for the compiled tests and programs. What it has is taken as it is.
        pattern: Regular expression of the names of tests, as for `go test -run`.
        log: File for the output of the tests.
        any_address: Let the tests accept graveler's names of objects.

    Returns:
        Names of test functions by result: `PASS`, `FAIL`, `SKIP`.
    """
    tests = _built(source, binaries, any_address=any_address)
    with _serving(imports=bool(re.search(pattern, _IMPORTING))) as lake, log.open("w") as output:
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
        command = [str(tests), "-test.v", "-test.timeout=30m", f"-test.run={pattern}"]
        command += [f"-test.skip={_ENDS_THE_RUN}", "-system-tests"]
        subprocess.run(command, cwd=source / "esti", env=environment, stdout=output, stderr=output, check=False)
    results: dict[str, list[str]] = {"PASS": [], "FAIL": [], "SKIP": []}
    for line in log.read_text(errors="replace").splitlines():
        if found := _RESULT.match(line):
            results[found[1]].append(found[2])
    return results


def _built(source: Path, binaries: Path, *, any_address: bool) -> Path:
    """Build what is missing. Return the program of the tests."""
    binaries.mkdir(parents=True, exist_ok=True)
    for program in _PROGRAMS:
        if not (binaries / program).exists():
            subprocess.run(["go", "build", "-o", binaries / program, f"./cmd/{program}"], cwd=source, check=True)
    tests = binaries / ("esti-any-address.test" if any_address else "esti.test")
    if tests.exists():
        return tests
    with TemporaryDirectory() as directory:
        overlay = Path(directory, "overlay.json")
        overlay.write_text(json.dumps({"Replace": _replaced(source, Path(directory)) if any_address else {}}))
        subprocess.run(["go", "test", "-c", "-overlay", overlay, "-o", tests, "./esti"], cwd=source, check=True)
    return tests


def _replaced(source: Path, directory: Path) -> dict[str, str]:
    """Return the file of the tests with the pattern of addresses, and the file that replaces it."""
    file, changed = source / "esti" / "lakectl_util.go", directory / "lakectl_util.go"
    text = file.read_text()
    assert text.count(_THEIR_ADDRESS) == 1, "the tests have another pattern of addresses"
    changed.write_text(text.replace(_THEIR_ADDRESS, _OUR_ADDRESS))
    return {str(file): str(changed)}


def _fill(port: int) -> None:
    """Make the bucket from which the tests import: 14 directories of 2,100 objects."""
    s3.made_bucket(port, _IMPORTED)
    directories = [f"{nested}prefix-{number}" for nested in ("", "nested/") for number in range(1, 8)]

    def fill(name: str) -> None:
        connection = HTTPConnection("127.0.0.1", port)
        for number in range(1, 2_101):
            path = f"/{_IMPORTED}/import-test-data/{name}/file{number:06}"
            connection.request("PUT", path, b"x" * 1_024, {"Content-Type": "application/octet-stream"})
            connection.getresponse().read()
        connection.close()

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(fill, directories))


@contextmanager
def _serving(*, imports: bool) -> Iterator[_Lake]:
    """Run `graveler serve` on PostgreSQL and an S3 server, with the administrator `esti`.

    Args:
        imports: Make the bucket of the tests that import.
    """
    keys = SecretsKeys.new().get_secret_value()
    with own_server() as postgresql, s3.s3_server() as objects, TemporaryDirectory() as directory:
        bucket = s3.made_bucket(objects.port, "esti")
        if imports:
            _fill(objects.port)
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
    parser.add_argument("--any-address", action="store_true")
    given = parser.parse_args()
    source = given.source.resolve()
    results = run(
        source,
        (given.binaries or source / "bin").resolve(),
        given.run,
        given.log.resolve(),
        any_address=given.any_address,
    )
    print(", ".join(f"{len(names)} {result}" for result, names in results.items()))
    for result in ("FAIL", "SKIP"):
        print(f"{result}: {' '.join(results[result])}")


if __name__ == "__main__":
    _main()
