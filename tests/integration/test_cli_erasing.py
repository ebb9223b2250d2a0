"""`graveler erase` and `erasures`: what they print, and what they refuse."""

from __future__ import annotations

from tests.integration.command_line import Cli, put, refused

REPOSITORY, MAIN = "graveler://flights", "graveler://flights/main"
WHY = ("--why", "request 17")


def test_an_erasure(flights: Cli) -> None:
    put(flights, "users/17/a", b"personal")
    flights("commit", MAIN, "-m", "personal")
    refused(flights("erase", REPOSITORY, "--prefix", "users/17/", *WHY), "prefix 'users/17/'", "--yes")
    would = flights("erase", REPOSITORY, "--prefix", "users/17/", *WHY, "--dry-run")
    assert would.out.splitlines()[0] == "would erase 1 object, 8 B"
    (done,) = flights("erase", REPOSITORY, "--prefix", "users/17/", *WHY, "--yes", "--json").documents
    assert (done["objects"], done["size"], done["naming"], done["dry_run"]) == (1, 8, 1, False)
    assert [commit["branch"] for commit in done["commits"]] == ["main"]
    refused(flights("cat", f"{MAIN}~1/users/17/a"), "users/17/a", "was erased on", "request 17")
    (erasure,) = flights("erasures", REPOSITORY, "--json").documents
    assert (erasure["id"], erasure["state"], erasure["why"]) == (done["erasure"], "done", "request 17")
    assert flights("fsck", REPOSITORY, "--data").code == 0
    assert "prefix 'users/17/'" in flights("erasures", REPOSITORY).out


def test_what_is_shared_is_listed_and_refused(flights: Cli) -> None:
    put(flights, "a", b"shared")
    flights("cp", f"{MAIN}/a", f"{MAIN}/b")
    (would,) = flights("erase", REPOSITORY, "a", *WHY, "-n", "--json").documents
    assert len(would["shared"]) == 1
    refused(flights("erase", REPOSITORY, "a", *WHY, "--yes"), "'b' in branch main", "name the same content")
    assert flights("erase", REPOSITORY, "a", "b", *WHY, "--yes").code == 0
    refused(flights("erase", REPOSITORY, "--yes", *WHY), "either paths or a prefix")
    refused(flights("erase", REPOSITORY, "nothing", *WHY, "--yes"), "has ever had path 'nothing'")
    assert flights("erase", REPOSITORY, "a", "--yes").code == 2
