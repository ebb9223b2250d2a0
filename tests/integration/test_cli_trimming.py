"""`graveler reflog --trim` on files and SQLite: the log is stored in fewer commits, and lists the same events."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import time_machine

from graveler_core.engine.references.events import fold
from tests.integration.command_line import Cli, refused
from tests.integration.doctoring import MAIN, REPOSITORY, opened


def test_the_reflog_is_trimmed(flights: Cli) -> None:
    with opened() as graveler:
        repo = graveler.repository("flights")
        for number in range(5):
            repo.create_branch(f"b{number}", "main")
            repo.delete_branch(f"b{number}")
            fold(graveler._stores, repo._record)
    told = flights("reflog", REPOSITORY, "--json").documents
    assert flights("reflog", REPOSITORY, "--trim", "--json").documents == [{"folded": 0, "deleted": 0}]
    (trimmed,) = flights("reflog", REPOSITORY, "--trim", "--keep", "2", "--json").documents
    assert trimmed["folded"] >= 3
    assert flights("reflog", REPOSITORY, "--json").documents == told
    with time_machine.travel(datetime.now(UTC) + timedelta(days=2), tick=True):
        words = flights("reflog", REPOSITORY, "--trim").out.split()
    assert words[:6] == ["combined", "0", "commits", "of", "the", "log,"]
    assert int(words[7]) >= trimmed["folded"] + 2


def test_options_that_do_not_go_with_a_trimming(flights: Cli) -> None:
    refused(flights("reflog", MAIN, "--trim"), "--trim", REPOSITORY)
    refused(flights("reflog", REPOSITORY, "--trim", "--mend"), "--mend", "--trim")
    refused(flights("reflog", REPOSITORY, "--keep", "2"), "--keep", "--trim")
    assert flights("reflog", REPOSITORY, "--trim", "--keep", "0").code == 2
