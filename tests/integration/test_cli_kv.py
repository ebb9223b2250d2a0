"""`graveler kv` between SQLite files: what it prints, what it refuses, and that the copy works."""

from __future__ import annotations

from pathlib import Path

from tests.integration.command_line import Cli, paths, put, refused

HERE, THERE = "sqlite:///.graveler/meta.db", "sqlite:///copy.db"


def test_a_copy(flights: Cli) -> None:
    put(flights, "staged", b"x")
    (counted,) = flights("kv", "copy", HERE, THERE, "--dry-run", "--json").documents
    (copied,) = flights("kv", "copy", HERE, THERE, "--json").documents
    assert counted == {**copied, "dry_run": True}
    assert copied["rows"] > copied["partitions"] >= 3
    rest = {name: value for name, value in copied.items() if name not in ("rows", "partitions", "size")}
    assert rest == {
        "from": HERE,
        "to": THERE,
        "repositories": 1,
        "deleted": 0,
        "resumed": False,
        "dry_run": False,
    }
    shown = paths(flights, "graveler://flights/main/")
    assert "staged" in shown
    ran = flights("ls", "-r", "graveler://flights/main/", "--store", THERE, "--json")
    assert [row["path"] for row in ran.documents] == shown
    ran = flights("kv", "verify", HERE, THERE)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(f"equal: {copied['rows']} rows in {copied['partitions']} partitions, ")
    (document,) = flights("kv", "verify", HERE, THERE, "--json").documents
    assert document == {"type": "equal", **{name: copied[name] for name in ("partitions", "rows", "size")}}


def test_what_it_says(flights: Cli) -> None:
    ran = flights("kv", "copy", HERE, THERE, "-n")
    assert ran.out.startswith("would copy 1 repository, ")
    assert ran.out.endswith(f" to {THERE}\n")
    assert flights("kv", "copy", HERE, THERE).out == ran.out.replace("would copy", "copied and compared")


def test_stores_that_differ(flights: Cli) -> None:
    assert flights("kv", "copy", HERE, THERE).code == 0
    put(flights, "new", b"x")
    ran = flights("kv", "verify", HERE, THERE, "--json")
    assert ran.code == 1
    missing = [row for row in ran.documents if row["key"] == "key/new"]
    assert [(row["type"], row["how"]) for row in missing] == [("difference", "missing")]
    assert flights("kv", "verify", HERE, THERE).lines == [
        [row["partition"], row["key"], row["how"]] for row in ran.documents
    ]


def test_refusals(flights: Cli, here: Path) -> None:
    assert flights("kv", "copy", HERE, THERE).code == 0
    refused(flights("kv", "copy", HERE, THERE), "the target is not empty")
    refused(flights("kv", "copy", "sqlite:///nothing.db", "sqlite:///x.db"), "there is no store at", "nothing.db")
    assert not (here / "nothing.db").exists()
    assert not (here / "x.db").exists()
    refused(flights("kv", "copy", "memory://", "sqlite:///x.db"), "is empty")
    refused(flights("kv", "copy", HERE, "nosql://host/x"), "nosql://")


def test_a_comparison_creates_nothing(flights: Cli, here: Path) -> None:
    for urls in ((HERE, "sqlite:///nothing.db"), ("sqlite:///nothing.db", HERE)):
        refused(flights("kv", "verify", *urls), "there is no store at", "nothing.db")
    assert not (here / "nothing.db").exists()


def test_passwords_are_never_shown(flights: Cli) -> None:
    urls = ("nosql://ada:canary@host/x", "nosql://host/x?password=canary", "sqlite:///x.db?password=canary")
    for url in urls:
        for arguments in (("copy", HERE, url), ("copy", url, HERE), ("verify", HERE, url), ("copy", HERE, url, "-n")):
            ran = flights("kv", *arguments)
            refused(ran, "***")
            assert "canary" not in ran.out + ran.err
    ran = flights("kv", "copy", HERE, "postgresql://ada:canary@127.0.0.1:1/graveler?connect_timeout=1")
    assert ran.code == 1
    assert "canary" not in ran.out + ran.err
