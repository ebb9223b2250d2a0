"""Tests of authentication when a store is opened."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from graveler_core import Credentials, connect
from graveler_core.errors import InvalidInput, Kind, PermissionDenied, Unavailable
from graveler_core.model.secrets_keys import SecretsKeys
from graveler_core.settings import Settings
from graveler_core.wiring import handles, users
from graveler_core.wiring.opening import open_stores
from graveler_core.wiring.users import session_user, sign_in, signing_user
from tests.cheap_hashes import cheap_hashes

__all__ = ["cheap_hashes"]
SECRET = "hunter2-canary"
SHOWN = Credentials("KEY", SECRET)


@dataclass(frozen=True)
class Guarded:
    """A store on which it was said who may do what, with a repository `lake`, and its users' credentials."""

    url: str
    root: Credentials
    viewer: Credentials


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Guarded:
    place = tmp_path_factory.mktemp("guarded")
    url = f"sqlite:///{place / 'meta.db'}"
    with connect(url) as g:
        main = g.create_repository("lake", (place / "lake").as_uri()).branch("main")
        main.put("raw/jan.csv", b"january")
        root = g.iam.set_up("root")
        g.iam.create_user("eve")
        g.iam.add_member("Viewers", "eve")
        eve = g.iam.create_credential("eve")
        main.put("raw/feb.csv", b"february")  # opened before: open for its life
    return Guarded(url, *(Credentials(made.access_key_id, made.secret) for made in (root, eve)))


@pytest.fixture
def once() -> Iterator[Callable[[], None]]:
    """Forgets that this process has said that a store is open."""
    users._say_that_it_is_open.cache_clear()
    yield users._say_that_it_is_open.cache_clear
    users._say_that_it_is_open.cache_clear()


@pytest.mark.parametrize("url", [None, 5, b"sqlite:///meta.db"])
def test_a_store_is_named_by_text(url: object) -> None:
    with pytest.raises(InvalidInput, match="must be a URL as text") as refused:
        connect(url)  # type: ignore[arg-type]
    assert refused.value.kind is Kind.InvalidUrl
    with pytest.raises(InvalidInput, match="storage options str: must be a mapping"):
        connect("memory://", storage_options="region=x")  # type: ignore[arg-type]


def test_credentials_are_asked_for_where_it_was_said_who_may(store: Guarded) -> None:
    with pytest.raises(PermissionDenied, match=r"connect\(credentials=…\)") as refused:
        connect(store.url)
    assert refused.value.kind is Kind.CredentialsRequired
    for wrong in (Credentials(store.root.access_key_id, SECRET), Credentials("0" * 32, SECRET), SHOWN):
        with pytest.raises(PermissionDenied) as refused:
            connect(store.url, credentials=wrong)
        assert refused.value.kind is Kind.InvalidCredentials
        assert SECRET not in str(refused.value)


def test_everybody_may_what_was_said(store: Guarded) -> None:
    with connect(store.url, credentials=store.root) as g:
        repo = g.repository("lake")
        assert repo.branch("main").commit("Load", committer="somebody").committer == "somebody"
        assert repo.create_branch("dev", "main").commit("root's", allow_empty=True).committer == "root"
        assert store.root.secret_access_key.get_secret_value() not in repr(g._stores)
    with connect(store.url, credentials=store.viewer) as g:
        repo = g.repository("lake")
        assert [entry.path for entry in repo.branch("dev").list()] == ["raw/feb.csv", "raw/jan.csv"]
        assert repo.at("main~0").read("raw/jan.csv") == b"january"
        for attempt in (
            lambda: repo.branch("dev").put("raw/mar.csv", b"march"),
            lambda: repo.create_tag("v1", "main"),
            lambda: g.delete_repository("lake"),
            lambda: g.iam.add_member("Admins", "eve"),
        ):
            with pytest.raises(PermissionDenied, match="user 'eve' may not ") as refused:
                attempt()
            assert refused.value.kind is Kind.AccessDenied
        own = g.iam.create_credential("eve")
        assert {each.access_key_id for each in g.iam.credentials("eve")} >= {own.access_key_id}


def test_where_a_path_is_denied_names_can_still_be_given(store: Guarded) -> None:
    """A developer who may not read `raw/`: the real principal tells whether refs matter to its policies."""
    with connect(store.url, credentials=store.root) as g:
        raw = "arn:graveler:fs:::repository/lake/object/raw/*"
        g.iam.create_policy("NotRaw", [{"effect": "deny", "actions": ["fs:ReadObject"], "resources": [raw]}])
        g.iam.create_user("dora")
        g.iam.add_member("Developers", "dora")
        g.iam.attach_policy("NotRaw", user="dora")
        made = g.iam.create_credential("dora")
    with connect(store.url, credentials=Credentials(made.access_key_id, made.secret)) as g:
        repo = g.repository("lake")
        mine = repo.create_branch("mine", "main")
        mine.put("curated/q1.csv", b"q1")
        mine.commit("Add the first quarter")
        repo.create_branch("ours", "main")
        assert repo.merge("mine", into="ours").committer == "dora"
        with pytest.raises(PermissionDenied):
            mine.read("raw/jan.csv")


def test_who_is_refused_leaves_nothing_open(store: Guarded, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = []
    monkeypatch.setattr(handles, "open_stores", lambda *a, **k: opened.append(open_stores(*a, **k)) or opened[0])
    with pytest.raises(PermissionDenied):
        connect(store.url)
    with pytest.raises(Unavailable):
        opened[0].kv.get(b"p", b"k")


def test_workers_are_asked_for_nothing(store: Guarded) -> None:
    stores = open_stores(store.url)
    assert stores.principal is None
    stores.close()


def test_an_open_store_is_told_of_once(once: Callable[[], None], caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="graveler.connect"):
        connect("memory://").close()
        connect("memory://").close()
    (said,) = caplog.messages
    assert "whoever can open it may do anything" in said
    assert "graveler iam setup" in said


def test_credentials_for_an_open_store_are_refused(once: Callable[[], None], caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO), pytest.raises(PermissionDenied, match="graveler iam setup") as refused:
        connect("memory://", credentials=SHOWN)
    assert refused.value.kind is Kind.InvalidCredentials
    assert not caplog.messages
    assert SECRET not in str(refused.value)


def test_the_environment_gives_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Settings().credentials is None
    monkeypatch.setenv("GRAVELER_ACCESS_KEY_ID", "KEY")
    with pytest.raises(InvalidInput, match="the secret is missing"):
        _ = Settings().credentials
    monkeypatch.setenv("GRAVELER_SECRET_ACCESS_KEY", SECRET)
    assert Settings().credentials == SHOWN
    assert SECRET not in repr(Settings())


def test_every_way_to_sign_in_obeys_webhooks(store: Guarded) -> None:
    """A hook before a change that cannot be called refuses the change, whoever the server acts for."""
    with connect(store.url, credentials=store.root) as g:
        g.repository("lake").set_hook("gate", "http://127.0.0.1:1/", ["pre-create-tag"], attempts=1)
    stores = open_stores(store.url)
    keys = SecretsKeys(SecretsKeys.new())
    root = sign_in(stores, store.root)
    made = root.iam.create_credential("root", secrets_keys=keys)
    for user in (
        root,
        session_user(stores, str(store.root.access_key_id))[0],
        signing_user(stores, keys, str(made.access_key_id))[0],
    ):
        with pytest.raises(PermissionDenied) as refused:
            user.repository("lake").create_tag("v1", "main")
        assert (refused.value.kind, "ConnectionRefusedError" in str(refused.value)) == (Kind.HookRefused, True)
    stores.close()
