"""`graveler metrics` as a process of its own, scraped over HTTP while others write to its store."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from prometheus_client.parser import text_string_to_metric_families

import graveler_core as graveler
from tests.integration.command_line import Cli, refused

PROGRAM = [sys.executable, "-c", "from graveler_core.cli.startup import main; main()"]


@contextmanager
def serving(*options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process, and the line that it printed first."""
    process = subprocess.Popen(
        [*PROGRAM, "metrics", "--port", "0", *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        yield process, process.stdout.readline()
    finally:
        process.kill()
        process.communicate()


def scraped(url: str) -> dict[tuple[str, Any], float]:
    with urlopen(url, timeout=60) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain")
        families = text_string_to_metric_families(answer.read().decode())
        return {
            (sample.name, tuple(sorted(sample.labels.items()))): sample.value
            for family in families
            for sample in family.samples
        }


def test_metrics_are_those_of_the_store_at_each_scrape(flights: Cli, here: Path) -> None:
    main = (("branch", "main"), ("repository", "flights"))
    with serving("--json") as (process, line):
        url = json.loads(line)["url"]
        before = scraped(url)
        assert before["graveler_up", ()] == 1
        assert ("graveler_branch_pressure", main) not in before

        with graveler.connect("sqlite:///.graveler/meta.db") as g:
            g.repository("flights").branch("main").remove_many(f"gone/{number}" for number in range(12_000))
        staged = scraped(url)
        assert staged["graveler_branch_staged_tombstones", main] == 12_000
        assert staged["graveler_branch_pressure", main] == 1.2

        assert flights("compact", "graveler://flights/main").code == 0
        after = scraped(url)
        assert ("graveler_branch_pressure", main) not in after
        assert after["graveler_compactions_total", (main[0], ("outcome", "compacted"), main[1])] == 1
        assert after["graveler_compaction_duration_seconds_count", main] == 1
        assert after["graveler_compaction_duration_seconds_sum", main] > 0
        assert after["graveler_kv_seconds_count", (("verb", "scan"),)] > 0

        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        assert (process.returncode, out, err) == (130, "", "error: interrupted\n")


def test_a_person_is_told_where(flights: Cli) -> None:
    with serving("--branches", "5") as (_, line):
        words = line.split()
        assert words[:3] == ["serving", "metrics", "at"]
        assert scraped(words[3])["graveler_up", ()] == 1


def test_what_cannot_be_served_is_refused(flights: Cli) -> None:
    refused(flights("metrics", "--port", "0", "--address", "192.0.2.1"), "192.0.2.1", "cannot listen")
    refused(flights("--store", "nosuch://x", "metrics", "--port", "0"), "nosuch")
    assert flights("metrics", "--port", "70000").code == 2
