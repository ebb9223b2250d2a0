"""Spark reads and writes Parquet through `s3a://` with the settings of the guide and Hadoop's file committer."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.graveler.server.conftest import Place
from tests.servers.maven import jars

HADOOP, SDK = "3.5.0", "2.35.4"
"""Version of Hadoop in PySpark, and of the SDK that belongs to it."""
(SETTINGS,) = re.findall(
    r"^```properties\n(.*?)^```", (Path(__file__).parents[4] / "docs" / "guides" / "server.md").read_text(), re.M | re.S
)
PROGRAM = Path(__file__).with_name("programs") / "with_s3a.py"


@pytest.mark.slow
def test_spark_on_s3a(place: Place) -> None:
    sdk = (f"software.amazon.awssdk:{name}:{SDK}" for name in ("s3", "sts", "s3-transfer-manager", "apache-client"))
    library = jars(
        f"hadoop-aws-{HADOOP}",
        f"org.apache.hadoop:hadoop-aws:{HADOOP}",
        *sdk,
        # The bundle has half a gigabyte, for all services. Spark has newer versions of the others.
        without=("software.amazon.awssdk:bundle", "io.netty:*", "org.slf4j:*"),
    )
    name, admin = place.repository(), place.server.admin
    settings = dict(line.split() for line in SETTINGS.splitlines())
    settings["spark.hadoop.fs.s3a.endpoint"] = place.server.url
    settings["spark.hadoop.fs.s3a.access.key"] = str(admin.access_key_id)
    settings["spark.hadoop.fs.s3a.secret.key"] = admin.secret.get_secret_value()
    variables = {"JARS": f"{library}/*", "SETTINGS": json.dumps(settings), "BUCKET": name}
    done = subprocess.run(
        [sys.executable, str(PROGRAM)],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert not done.returncode, done.stderr[-6_000:]
    assert json.loads(done.stdout.splitlines()[-1]) == {
        "rows": 1_000,
        "sum": 499_500,
        "of a partition": 334,
        "after an append": 2_000,
        "after an overwrite": 10,
        "from the commit": 1_000,
        "names": ["_SUCCESS"],
        "removed": True,
    }
    repo = place.server.graveler.repository(name)
    paths = [entry.path for entry in repo.branch("main").list("t/")]
    assert paths
    assert not [path for path in paths if "_temporary" in path]
