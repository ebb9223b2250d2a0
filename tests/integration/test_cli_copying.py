"""`graveler cp`, `mv`, `stat`: paths that refer to the same content, moves in one step, and URIs that are refused."""

from __future__ import annotations

import pytest

import graveler
from tests.integration.command_line import Cli, put, refused

MAIN = "graveler://flights/main"


def listed(cli: Cli, uri: str = MAIN) -> dict[str, str]:
    """Return the addresses of all objects by path."""
    return {row["path"]: row["address"] for row in cli("ls", "-r", uri, "--json").documents}


def test_a_copy_refers_to_the_same_content(flights: Cli) -> None:
    before = listed(flights)
    ran = flights("cp", f"{MAIN}/raw/jan.csv", f"{MAIN}/copies/first.csv", "--json")
    assert ran.documents == [{"copied": 1, "source": f"{MAIN}/raw/jan.csv", "destination": f"{MAIN}/copies/first.csv"}]
    assert listed(flights) == {**before, "copies/first.csv": before["raw/jan.csv"]}
    assert flights("cat", f"{MAIN}/copies/first.csv").out == flights("cat", f"{MAIN}/raw/jan.csv").out


def test_an_object_that_is_copied_into_a_directory_keeps_its_name(flights: Cli) -> None:
    assert flights("cp", f"{MAIN}/raw/jan.csv", f"{MAIN}/copies/").code == 0
    assert flights("cp", f"{MAIN}/raw/feb.csv", MAIN).code == 0
    assert {"copies/jan.csv", "feb.csv"} <= listed(flights).keys()


def test_a_directory_is_copied_from_an_earlier_commit_to_another_branch(flights: Cli) -> None:
    before = listed(flights)
    flights("branch", "create", "graveler://flights/dev", "--source", "main")
    flights("rm", "-r", "--yes", f"{MAIN}/raw/")
    flights("commit", MAIN, "-m", "Remove")
    ran = flights("cp", "-r", f"{MAIN}~1/raw/", "graveler://flights/dev/old/")
    assert ran.out.startswith(f"copied 2 objects from {MAIN}~1/raw/ to graveler://flights/dev/old/")
    found = listed(flights, "graveler://flights/dev")
    assert {path: address for path, address in found.items() if path.startswith("old/")} == {
        path.replace("raw/", "old/"): address for path, address in before.items() if path.startswith("raw/")
    }
    assert listed(flights) == {"readme": before["readme"]}


def test_a_move_leaves_nothing_behind_and_is_undone_by_a_reset(flights: Cli) -> None:
    before = listed(flights)
    assert flights("mv", f"{MAIN}/readme", f"{MAIN}/README").out.startswith("moved 1 object")
    assert flights("mv", "-r", f"{MAIN}/raw/", f"{MAIN}/raw/2013/", "--json").documents[0]["moved"] == 2
    assert listed(flights) == {
        "README": before["readme"],
        "raw/2013/feb.csv": before["raw/feb.csv"],
        "raw/2013/jan.csv": before["raw/jan.csv"],
    }
    flights("reset", "--yes", MAIN)
    assert listed(flights) == before


def test_a_reset_of_both_paths_takes_a_move_back_and_leaves_other_changes(flights: Cli) -> None:
    put(flights, "other", b"staged")
    before = listed(flights)
    flights("mv", f"{MAIN}/readme", f"{MAIN}/README")
    flights("reset", "--yes", f"{MAIN}/readme")
    assert listed(flights) == {**before, "README": before["readme"]}
    flights("reset", "--yes", f"{MAIN}/README")
    assert listed(flights) == before


def test_an_exact_reset_leaves_longer_paths_alone(flights: Cli) -> None:
    before = listed(flights)
    for path in ("readme", "readme.old"):
        put(flights, path, b"staged")
    changed = listed(flights)
    [said] = flights("reset", "--yes", "--exact", f"{MAIN}/readme", "--json").documents
    assert (said["path"], said["prefix"]) == ("readme", None)
    assert listed(flights) == {**changed, "readme": before["readme"]}


def test_a_reset_brings_back_no_uncommitted_content(flights: Cli) -> None:
    """Of moved and removed paths, as the help of mv and rm says. Another move brings it back."""
    committed = listed(flights)
    put(flights, "new", b"staged")
    put(flights, "readme", b"staged")
    before = listed(flights)
    flights("mv", f"{MAIN}/new", f"{MAIN}/readme")
    flights("mv", f"{MAIN}/readme", f"{MAIN}/new")
    assert listed(flights)["new"] == before["new"]
    flights("reset", "--yes", f"{MAIN}/new")
    flights("reset", "--yes", f"{MAIN}/readme")
    assert listed(flights) == committed
    put(flights, "readme", b"staged")
    flights("rm", f"{MAIN}/readme")
    flights("reset", "--yes", f"{MAIN}/readme")
    assert listed(flights) == committed


def test_a_path_that_is_moved_onto_a_moved_path_stays(flights: Cli) -> None:
    """`a/a/x` becomes `a/x`, which is itself moved to `x`."""
    with graveler.connect("sqlite:///.graveler/meta.db") as g:
        branch = g.repository("flights").branch("main")
        for path in ("a/x", "a/a/x"):
            branch.put(path, path.encode())
    assert flights("mv", "-r", f"{MAIN}/a/", MAIN).code == 0
    assert flights("cat", f"{MAIN}/x").out == "a/x"
    assert flights("cat", f"{MAIN}/a/x").out == "a/a/x"
    assert "a/a/x" not in listed(flights)


def test_a_path_that_others_begin_with_is_copied_alone(flights: Cli) -> None:
    with graveler.connect("sqlite:///.graveler/meta.db") as g:
        branch = g.repository("flights").branch("main")
        for path in ("a", "a/b", "ab"):
            branch.put(path, path.encode())
    assert flights("mv", f"{MAIN}/a", f"{MAIN}/z").code == 0
    found = listed(flights)
    assert {"z", "a/b", "ab"} <= found.keys()
    assert "a" not in found


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (f"cp {MAIN}/none {MAIN}/x", "none"),
        (f"cp -r {MAIN}/none/ {MAIN}/x/", "there are no paths below it"),
        (f"cp -r {MAIN}/raw {MAIN}/x/", f"must be a directory with -r, as in {MAIN}/raw/"),
        (f"cp -r {MAIN}/raw/ {MAIN}/x", f"must be a directory with -r, as in {MAIN}/x/"),
        (f"cp {MAIN}/readme graveler://other/main/readme", "must name the same repository"),
        (f"mv {MAIN}~1/readme {MAIN}/x", "must name the same branch"),
        (f"cp {MAIN}/readme {MAIN}~1/x", "main~1"),
        (f"stat {MAIN}/none", "none"),
    ],
)
def test_what_cannot_be_copied_is_refused_and_changes_nothing(flights: Cli, words: str, message: str) -> None:
    before = listed(flights)
    refused(flights(*words.split()), message)
    assert listed(flights) == before


def test_stat_shows_all_properties(flights: Cli) -> None:
    (document,) = flights("stat", f"{MAIN}/raw/jan.csv", "--json").documents
    assert document["path"] == "raw/jan.csv"
    assert document["uri"].startswith("file://")
    assert document["uri"].endswith(document["address"])
    lines = dict(line.split(": ", 1) for line in flights("stat", f"{MAIN}/raw/jan.csv").out.splitlines())
    assert lines["size"] == str(document["size"])
    assert lines["checksum"] == document["checksum"]
    assert lines["uri"] == document["uri"]


@pytest.mark.parametrize("verb", ["cp", "mv"])
def test_the_entry_that_marks_a_directory_is_not_copied_to_the_top(flights: Cli, verb: str) -> None:
    with graveler.connect("sqlite:///.graveler/meta.db") as g:
        g.repository("flights").branch("main").put("raw/", b"")
    before = listed(flights)
    assert flights(verb, "-r", f"{MAIN}/raw/", MAIN).out.startswith(
        f"{'copied' if verb == 'cp' else 'moved'} 2 objects"
    )
    assert listed(flights) == {
        "jan.csv": before["raw/jan.csv"],
        "feb.csv": before["raw/feb.csv"],
        **(before if verb == "cp" else {"readme": before["readme"]}),
    }
