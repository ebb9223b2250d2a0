"""`graveler iam …` on SQLite: what it makes, shows and refuses; a secret is printed once, and kept nowhere."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

import graveler_core as graveler
from graveler_core.iam.principal import authenticate
from graveler_core.model.clock import SystemClock
from graveler_core.wiring.opening import open_stores
from tests.integration.command_line import Cli, paths, refused

STATEMENT: dict[str, Any] = {
    "effect": "allow",
    "actions": ["fs:Read*", "fs:List*"],
    "resources": ["arn:graveler:fs:::repository/flights/object/raw/*"],
    "conditions": {"StringNotEquals": {"graveler:branch": ["main"]}},
}
RAW = "arn:graveler:fs:::repository/flights/object/raw/jan.csv"


def written(name: str = "ReadRaw", **change: object) -> str:
    Path("policy.json").write_text(json.dumps({"id": name, "statements": [STATEMENT | change]}))
    return "policy.json"


def test_setup(cli: Cli, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (made,) = cli("iam", "setup", "ada", "--json").documents
    assert set(made) == {"user", "access_key_id", "secret", "creation_date"}
    stores = open_stores("sqlite:///.graveler/meta.db")
    assert authenticate(stores.kv, SystemClock(), made["access_key_id"], made["secret"]).user == "ada"
    stores.close()
    refused(cli("iam", "setup", "bob"), "this store wants credentials")
    show(monkeypatch, made)
    refused(cli("iam", "setup", "bob"), "already set up")
    groups = [row["id"] for row in cli("iam", "group", "list", "--json").documents]
    assert groups == ["Admins", "Developers", "SuperUsers", "Viewers"]
    assert cli("iam", "member", "list", "Admins").lines[0][0] == "ada"
    refused(cli("iam", "member", "remove", "Admins", "ada"), "would leave no administrator")
    assert not any(made["secret"].encode() in path.read_bytes() for path in here.rglob("*") if path.is_file())


def show(monkeypatch: pytest.MonkeyPatch, made: dict[str, str]) -> None:
    """From now on the command line shows these credentials."""
    monkeypatch.setenv("GRAVELER_ACCESS_KEY_ID", made["access_key_id"])
    monkeypatch.setenv("GRAVELER_SECRET_ACCESS_KEY", made["secret"])


def test_the_command_line_is_asked_as_everybody(flights: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    (root,) = flights("iam", "setup", "root", "--json").documents
    refused(flights("ls", "graveler://flights/main/"), "GRAVELER_ACCESS_KEY_ID")
    monkeypatch.setenv("GRAVELER_ACCESS_KEY_ID", root["access_key_id"])
    refused(flights("ls", "graveler://flights/main/"), "the secret is missing")
    show(monkeypatch, root)
    assert flights("iam", "user", "create", "eve").code == 0
    assert flights("iam", "member", "add", "Viewers", "eve").code == 0
    (eve,) = flights("iam", "credential", "create", "eve", "--json").documents
    show(monkeypatch, {**eve, "secret": "wrong"})
    ran = flights("ls", "graveler://flights/main/")
    refused(ran, "the secret does not match it")
    show(monkeypatch, eve)
    assert paths(flights, "graveler://flights/main/") == ["raw/feb.csv", "raw/jan.csv", "readme"]
    Path("content").write_bytes(b"new")
    for verb in (
        ("put", "content", "graveler://flights/main/new"),
        ("rm", "graveler://flights/main/readme"),
        ("merge", "graveler://flights/main", "graveler://flights/main"),
        ("gc", "--yes", "graveler://flights"),
        ("repo", "delete", "graveler://flights", "--yes"),
        ("iam", "user", "delete", "--yes", "root"),
    ):
        refused(flights(*verb), "user 'eve' may not ")
    show(monkeypatch, root)
    assert flights("put", "content", "graveler://flights/main/new").code == 0
    (made,) = flights("commit", "graveler://flights/main", "-m", "New", "--json").documents
    assert made["committer"] == "ada"  # GRAVELER_COMMITTER; an administrator may choose


def test_users_and_groups(cli: Cli) -> None:
    for name in ("bob", "ada"):
        assert cli("iam", "user", "create", name).out == f"created user {name}\n"
    assert cli("iam", "group", "create", "crew").out == "created group crew\n"
    refused(cli("iam", "user", "create", "ada"), "user 'ada' already exists")
    refused(cli("iam", "user", "create", "a/b"), "user name 'a/b'")
    assert [line[0] for line in cli("iam", "user", "list").lines] == ["ada", "bob"]
    assert [line[0] for line in cli("iam", "user", "list", "--prefix", "b").lines] == ["bob"]
    assert cli("iam", "member", "add", "crew", "ada").out == "added ada to group crew\n"
    assert cli("iam", "member", "add", "crew", "bob", "--json").documents == [{"group": "crew", "added": "bob"}]
    assert [row["id"] for row in cli("iam", "group", "list", "--user", "ada", "--json").documents] == ["crew"]
    assert cli("iam", "member", "remove", "crew", "bob", "--json").documents == [{"group": "crew", "removed": "bob"}]
    refused(cli("iam", "member", "remove", "crew", "bob"), "not related")
    assert [line[0] for line in cli("iam", "member", "list", "crew").lines] == ["ada"]
    assert cli("iam", "user", "delete", "--yes", "ada", "--json").documents == [{"deleted": "ada"}]
    assert cli("iam", "member", "list", "crew").out == ""
    assert cli("iam", "group", "delete", "--yes", "crew").out == "deleted group crew\n"
    refused(cli("iam", "group", "delete", "--yes", "crew"), "group 'crew' does not exist")


def test_policies(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    cli("iam", "user", "create", "ada")
    cli("iam", "group", "create", "crew")
    assert cli("iam", "policy", "create", written()).out == "created policy ReadRaw\n"
    (shown,) = cli("iam", "policy", "show", "ReadRaw", "--json").documents
    assert {"id": shown["id"], "statements": shown["statements"]} == {"id": "ReadRaw", "statements": [STATEMENT]}
    text = cli("iam", "policy", "show", "ReadRaw").out
    assert json.loads(text) == {"id": "ReadRaw", "statements": [STATEMENT]}
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert cli("iam", "policy", "update", "-").out == "changed policy ReadRaw\n"
    assert [line[:2] for line in cli("iam", "policy", "list").lines] == [["ReadRaw", "1"]]
    assert cli("iam", "attach", "ReadRaw", "--user", "ada").out == "attached policy ReadRaw to ada\n"
    assert cli("iam", "attach", "ReadRaw", "--group", "crew", "--json").documents == [
        {"policy": "ReadRaw", "user": None, "group": "crew"}
    ]
    assert [row["id"] for row in cli("iam", "policy", "list", "--group", "crew", "--json").documents] == ["ReadRaw"]
    assert cli("iam", "detach", "ReadRaw", "--group", "crew").out == "detached policy ReadRaw from crew\n"
    assert cli("iam", "policy", "list", "--group", "crew").out == ""
    refused(cli("iam", "detach", "ReadRaw", "--group", "crew"), "not related")
    refused(cli("iam", "attach", "ReadRaw"), "a user or a group")
    assert cli("iam", "policy", "delete", "--yes", "ReadRaw").out == "deleted policy ReadRaw\n"
    assert cli("iam", "policy", "list", "--user", "ada").out == ""


def test_bad_policies_are_refused(cli: Cli) -> None:
    refused(cli("iam", "policy", "create", written(actions=["fs:Fly"])), "policy 'ReadRaw', statement 1", "fs:Fly")
    Path("policy.json").write_text("{")
    refused(cli("iam", "policy", "create", "policy.json"), "policy.json: is not JSON")
    Path("policy.json").write_text("[" * 100_000)
    refused(cli("iam", "policy", "create", "policy.json"), "policy.json: is nested too deeply")
    Path("policy.json").write_text("[]")
    refused(cli("iam", "policy", "create", "policy.json"), "id and statements")
    Path("policy.json").write_text('{"id": "x", "statements": [{"effect": "deny", "effect": "allow"}]}')
    refused(cli("iam", "policy", "create", "policy.json"), "policy.json: 'effect' occurs twice")
    refused(cli("iam", "policy", "create", "none.json"), "none.json")
    assert cli("iam", "policy", "list").out == ""


def test_simulate(cli: Cli) -> None:
    cli("iam", "user", "create", "ada")
    cli("iam", "policy", "create", written())
    cli("iam", "attach", "ReadRaw", "--user", "ada")
    ran = cli("iam", "simulate", "ada", "fs:ReadObject", RAW)
    assert (ran.code, ran.out) == (0, "allowed by ReadRaw, statement 1\n")
    ran = cli("iam", "simulate", "ada", "fs:ReadObject", RAW, "-c", "graveler:branch=main")
    assert (ran.code, ran.out, ran.err) == (1, "denied: no policy allows it\n", "")
    raw = RAW.removesuffix("jan.csv")
    assert cli("iam", "simulate", "ada", "fs:ListObjects", raw, "--prefix", "--json").documents == [
        {"allowed": True, "by": "ReadRaw", "statement": 1}
    ]
    cli("iam", "policy", "create", written("NoRaw", effect="deny"))
    cli("iam", "attach", "NoRaw", "--user", "ada")
    assert cli("iam", "simulate", "ada", "fs:ReadObject", RAW).out == "denied by NoRaw, statement 1\n"
    refused(cli("iam", "simulate", "eve", "fs:ReadObject", RAW), "user 'eve' does not exist")
    refused(cli("iam", "simulate", "ada", "fs:Fly", RAW), "'fs:Fly'")
    refused(cli("iam", "simulate", "ada", "fs:ReadObject", "flights/raw/jan.csv"), "'flights/raw/jan.csv'")
    refused(cli("iam", "simulate", "ada", "fs:ReadObject", RAW, "-c", "graveler:time=soon"), "'soon'")
    refused(cli("iam", "simulate", "ada", "fs:ReadObject", RAW, "-c", "moon=full"), "'moon'")


def test_credentials(cli: Cli, here: Path) -> None:
    cli("iam", "user", "create", "ada")
    (made,) = cli("iam", "credential", "create", "ada", "--json").documents
    told = cli("iam", "credential", "create", "ada").out
    assert "it is not shown again" in told
    listed = cli("iam", "credential", "list", "ada")
    assert made["access_key_id"] in [line[0] for line in listed.lines]
    assert len(listed.lines) == 2
    assert made["secret"] not in listed.out
    ran = cli("iam", "credential", "delete", "--yes", "ada", made["access_key_id"])
    assert ran.out == f"deleted access key {made['access_key_id']} of ada\n"
    refused(cli("iam", "credential", "delete", "--yes", "ada", made["access_key_id"]), "has no credential")
    refused(cli("iam", "credential", "delete", "--yes", "ada", "nonsense"), "access key 'nonsense'")


def test_a_copied_store_has_the_same_users(flights: Cli) -> None:
    """Hashes are copied: whoever could authenticate still can. Secrets are nowhere."""
    (made,) = flights("iam", "setup", "ada", "--json").documents
    assert flights("kv", "copy", "sqlite:///.graveler/meta.db", "sqlite:///copy.db").code == 0
    assert made["secret"].encode() not in Path("copy.db").read_bytes()
    shown = graveler.Credentials(made["access_key_id"], made["secret"])
    with graveler.connect("sqlite:///copy.db", credentials=shown) as g:
        assert g.iam.user("ada").id == "ada"
