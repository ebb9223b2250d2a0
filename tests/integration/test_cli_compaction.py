"""`graveler compact`, `status` of what is staged, `repo thresholds`: on files and SQLite."""

from __future__ import annotations

from pathlib import Path

import pytest

import graveler_core as graveler
from graveler_core import Entry
from tests.integration.command_line import Cli, paths, put, refused

MAIN = "graveler://flights/main"
STORE = "sqlite:///.graveler/meta.db"


def remove_many(count: int, branch: str = "main") -> None:
    with graveler.connect(STORE) as g:
        g.repository("flights").branch(branch).remove_many(f"gone/{number:05}" for number in range(count))


def test_a_compaction(flights: Cli) -> None:
    put(flights, "raw/mar.csv", b"march")
    flights("rm", f"{MAIN}/readme")
    (document,) = flights("compact", MAIN, "--json").documents
    metarange = document.pop("metarange_id")
    assert len(metarange) == 64
    assert document == {
        "layers": 1,
        "records": 2,
        "tombstones": 1,
        "added": 1,
        "changed": 0,
        "removed": 1,
        "entries": 3,
        "size": 20,
    }
    assert paths(flights, MAIN) == ["raw/feb.csv", "raw/jan.csv", "raw/mar.csv"]
    assert [row["path"] for row in flights("status", MAIN, "--json").documents[1:]] == ["raw/mar.csv", "readme"]
    put(flights, "raw/apr.csv", b"april")
    assert flights("compact", MAIN).out == "compacted branch main: 1 record of 1 layer, 0 tombstones among them\n"


def test_a_compaction_that_gives_way(flights: Cli) -> None:
    put(flights, "raw/mar.csv", b"march")
    assert flights("compact", MAIN, "--every", "10m").code == 0
    put(flights, "raw/apr.csv", b"april")
    refused(flights("compact", MAIN, "--every", "10m"), "main", "a compaction began at")
    refused(flights("compact", MAIN, "--every", "soon"), "--every 'soon'", "7d")
    assert flights("compact", MAIN).code == 0


def test_nothing_to_compact(flights: Cli) -> None:
    refused(flights("compact", MAIN), "main", "nothing to compact")
    refused(flights("compact", "graveler://flights/absent"), "absent")


def test_status_of_a_branch_tells_what_is_staged_and_what_compactions_did(flights: Cli) -> None:
    remove_many(12_000)
    document = flights("status", MAIN, "--json", "-n", "0").documents[0]
    age = document.pop("age")
    assert 0 <= age < 3_600
    assert {name: document[name] for name in ("type", "repository", "id", "staged", "tombstones", "layers")} == {
        "type": "branch",
        "repository": "flights",
        "id": "main",
        "staged": 12_000,
        "tombstones": 12_000,
        "layers": 1,
    }
    assert (document["pressure"], document["over"]) == (1.2, True)
    assert document["reasons"] == ["12,000 tombstones of 10,000"]
    assert document["thresholds"] == {"tombstones": 10_000, "layers": 20, "staged": 250_000, "age": 86_400.0}
    assert document["compactions"] == {"outcomes": {}, "seconds": 0.0, "recent": []}
    told = flights("status", MAIN, "-n", "0").out.splitlines()
    assert told[1].startswith("staged 12,000 records, 12,000 tombstones among them, in 1 sealed layer, for 0:")
    assert told[2] == "to be compacted: 12,000 tombstones of 10,000"

    flights("compact", MAIN)
    after = flights("status", MAIN, "--json").documents
    assert [row["type"] for row in after] == ["branch"], "no layers and no changes"
    assert (after[0]["staged"], after[0]["layers"], after[0]["pressure"]) == (0, 0, 0.0)
    assert after[0]["compactions"]["outcomes"] == {"compacted": 1}
    (run,) = after[0]["compactions"]["recent"]
    assert (run["outcome"], run["layers"], run["records"], run["tombstones"]) == ("compacted", 1, 12_000, 12_000)
    assert ": compacted, 12,000 records of 1 layer in " in flights("status", MAIN).out


def test_status_of_a_repository_and_of_all(flights: Cli) -> None:
    assert flights("status").out == flights("status", "graveler://flights").out == ""
    flights("branch", "create", "graveler://flights/dev")
    remove_many(11_000, "dev")
    remove_many(500)
    flights("repo", "create", "graveler://weather")
    for uri in ([], ["graveler://flights"]):
        rows = flights("status", *uri, "--json").documents
        assert [(row["repository"], row["id"], row["over"]) for row in rows] == [
            ("flights", "dev", True),
            ("flights", "main", False),
        ]
        assert "compactions" not in rows[0]
    lines = flights("status").lines
    assert [(line[0], line[1], line[5], line[6]) for line in lines] == [
        ("1.100000", "11000", "flights/dev", "11,000 tombstones of 10,000"),
        ("0.050000", "500", "flights/main", ""),
    ]
    assert len(flights("status", "-n", "1").lines) == 1
    assert flights("status", "graveler://weather").out == ""
    refused(flights("status", "graveler://absent"), "absent")


def test_what_nobody_counted_is_counted_on_demand(flights: Cli, here: Path) -> None:
    with graveler.connect(STORE) as g:
        main = g.repository("flights").branch("main")
        for number in range(40):  # fewer than a process writes down before it ends
            main.stage(f"raw/{number}", Entry(address=f"x/{number}", size=1))
        main.remove("readme")
        kv = g._stores.kv
        for key in [row.key for row in kv.scan(b"graveler_stats")]:
            kv.delete(b"graveler_stats", key)
        g._stores.counts.rest()
    assert flights("status", MAIN, "--json", "-n", "0").documents[0]["staged"] == 0
    exact = flights("status", MAIN, "--exact", "--json", "-n", "0").documents[0]
    assert (exact["staged"], exact["tombstones"]) == (41, 1)
    assert flights("status", MAIN, "--json", "-n", "0").documents[0]["staged"] == 41
    refused(flights("status", "graveler://flights", "--exact"), "--exact", "graveler://repository/branch")


def test_thresholds_of_a_repository_and_of_a_branch(flights: Cli) -> None:
    default = {"tombstones": 10_000, "layers": 20, "staged": 250_000, "age": 86_400.0}
    (row,) = flights("repo", "thresholds", "graveler://flights", "--json").documents
    assert row == {"type": "thresholds", "repository": "flights", "branch": None, **default}

    (row,) = flights("repo", "thresholds", "graveler://flights", "--layers", "5", "--age", "2h", "--json").documents
    assert row == {
        "type": "thresholds",
        "repository": "flights",
        "branch": None,
        **default,
        "layers": 5,
        "age": 7_200.0,
    }

    (row,) = flights("repo", "thresholds", MAIN, "--tombstones", "100", "--staged", "9", "--json").documents
    own = {"tombstones": 100, "layers": 5, "staged": 9, "age": 7_200.0}
    assert row == {"type": "thresholds", "repository": "flights", "branch": "main", **own}
    lines = flights("repo", "thresholds", "graveler://flights").lines
    assert lines == [["10000", "250000", "5", "7200.0", "all others"], ["100", "9", "5", "7200.0", "main"]]
    remove_many(300)
    assert flights("status", MAIN, "--json").documents[0]["pressure"] == pytest.approx(300 / 9, abs=1e-6)

    (row,) = flights("repo", "thresholds", MAIN, "--unset", "--json").documents
    assert (row["branch"], row["tombstones"], row["layers"]) == ("main", 10_000, 5)
    (row,) = flights("repo", "thresholds", "graveler://flights", "--unset", "--json").documents
    assert row == {"type": "thresholds", "repository": "flights", "branch": None, **default}


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("graveler://flights --age 0s", "--age"),
        ("graveler://flights --age soon", "--age"),
        ("graveler://flights --unset --layers 3", "--unset"),
        ("graveler://flights/absent --layers 3", "absent"),
        ("graveler://absent", "absent"),
    ],
)
def test_thresholds_that_are_refused(flights: Cli, words: str, named: str) -> None:
    refused(flights("repo", "thresholds", *words.split()), named)
    assert flights("repo", "thresholds", "graveler://flights").lines == [
        ["10000", "250000", "20", "86400.0", "all others"]
    ]
