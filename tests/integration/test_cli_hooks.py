"""`graveler hook …` on a real store, with a receiver on this machine."""

from __future__ import annotations

import io
import sys

import pytest

from tests.integration.command_line import Cli, put, refused
from tests.unit.stores.test_webhook_request import answering, receiver

HERE = "graveler://flights"


def test_hooks_are_set_called_listed_and_removed(flights: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAVELER_HOOK_KEY", "geheim")
    with receiver(answering(400, b"not today")) as received:
        url = f"http://127.0.0.1:{received.port}/x"
        made = flights(
            "hook", "set", HERE, "gate", url, "-e", "pre-commit", "-e", "post-merge", "--pattern", "main", "--attempts",
            "1", "--timeout", "5", "--secret-variable", "GRAVELER_HOOK_KEY", "--json",
        )  # fmt: skip
        assert made.documents == [
            {
                "type": "webhook",
                "name": "gate",
                "url": url,
                "events": ["pre-commit", "post-merge"],
                "pattern": "main",
                "timeout": 5.0,
                "attempts": 1,
                "secret_variable": "GRAVELER_HOOK_KEY",
                "token_variable": "",
            }
        ]
        put(flights, "raw/mar.csv", b"march")
        refused(flights("commit", f"{HERE}/main", "-m", "March"), "hook 'gate' (pre-commit) refused", "not today")
    assert "x-graveler-signature" in received.headers
    (run,) = flights("hook", "runs", HERE, "--json").documents
    assert (run["hook"], run["event"], run["state"], run["status"]) == ("gate", "pre-commit", "refused", 400)
    assert (run["branch"], run["tag"], run["message"], run["attempts"]) == ("main", None, "not today", 1)
    assert "geheim" not in flights("hook", "runs", HERE, "--json").out + flights("hook", "list", HERE).out
    refused(flights("hook", "repeat", HERE, run["id"]), "only a webhook after a change")
    assert flights("hook", "deliver", HERE, "--json").documents[0]["waiting"] == 0
    assert [row[0] for row in flights("hook", "list", HERE).lines] == ["gate"]
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    refused(flights("hook", "remove", HERE, "gate"), "--yes")
    assert flights("hook", "remove", HERE, "gate", "--yes").code == 0
    assert flights("hook", "list", HERE, "--json").documents == []
    assert flights("commit", f"{HERE}/main", "-m", "March").code == 0


def test_the_program_waits_for_hooks_after_a_commit_and_repeats_failed_ones(flights: Cli) -> None:
    put(flights, "raw/mar.csv", b"march")
    with receiver(answering(400)) as received:
        flights("hook", "set", HERE, "tell", f"http://127.0.0.1:{received.port}/", "-e", "post-commit")
        assert flights("commit", f"{HERE}/main", "-m", "March").code == 0
        assert received.paths == ["/"]
    (run,) = flights("hook", "runs", HERE, "--json").documents
    assert run["state"] == "failed"
    (row,) = flights("hook", "runs", HERE).lines
    assert row[1:6] == ["tell", "post-commit", "main", "failed", "status 400"]
    with receiver(answering(200)) as received:
        flights("hook", "set", HERE, "tell", f"http://127.0.0.1:{received.port}/", "-e", "post-commit")
        (again,) = flights("hook", "repeat", HERE, run["id"], "--json").documents
    assert (again["id"], again["state"], again["attempts"]) == (run["id"], "passed", 2)


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        (("set", HERE, "x", "http://a", "-e", "pre-comit"), "choose from pre-commit"),
        (("set", HERE, "x", "nowhere", "-e", "pre-commit"), "must be an http or https URL"),
        (("remove", HERE, "x", "--yes"), "has no webhook with this name"),
        (("repeat", HERE, "x"), "has no run of a hook with this id"),
    ],
)
def test_bad_input_is_refused(flights: Cli, words: tuple[str, ...], rule: str) -> None:
    refused(flights("hook", *words), rule)
