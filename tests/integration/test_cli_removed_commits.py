"""`graveler gc --data` on SQLite removes a commit that a hook has refused, and the command line says so."""

from __future__ import annotations

from functools import partial

import pytest

import graveler
from graveler import Hook, PermissionDenied
from graveler_core.facade.repository import Repository
from graveler_core.model.hook_runs import HookRequest
from tests.integration.command_line import Cli, refused

REPOSITORY = "graveler://flights"


def lose() -> str:
    """Have a hook refuse a commit, and return the commit."""
    told = []

    def refuse(request: HookRequest, repository: Repository) -> None:
        told.append(request.commit_id)
        raise ValueError("no")

    with graveler.connect("sqlite:///.graveler/meta.db", hooks=[Hook("no", refuse, events=("pre-commit",))]) as g:
        main = g.repository("flights").branch("main")
        main.put("x", b"lost")
        with pytest.raises(PermissionDenied):
            main.commit("lost")
        main.reset()
    (lost,) = told
    return str(lost)


def test_a_refused_commit_is_removed(flights: Cli) -> None:
    collect = partial(flights, "gc", "--yes", REPOSITORY, "--data", "--grace", "0s", "--alone")
    assert "commits" not in collect().out
    lost = lose()
    said = "commits that no branch or tag has reached: "
    assert f"{said}0 would be removed, 1 would be announced to be removed\n" in collect("--dry-run").out
    assert f"{said}1 removed, 1 announced to be removed\n" in collect().out
    (document,) = collect("--json").documents
    assert (document["unreached"], document["removed"], document["deleted_size"]) == (0, 0, 4), "its content follows"
    removed = lost, "was removed on", "no branch or tag has reached it"
    refused(flights("show", f"{REPOSITORY}/{lost}"), *removed)
    refused(flights("tag", "create", f"{REPOSITORY}/v1", f"{REPOSITORY}/{lost}"), *removed)
    assert flights("fsck", REPOSITORY, "--deep", "--data").code == 0
