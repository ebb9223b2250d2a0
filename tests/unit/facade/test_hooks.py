"""Webhooks as settings of a repository: rules for values, limits, listings, functions of `connect`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import graveler
from graveler import Hook, HookRequest
from graveler_core.errors import InvalidInput, Kind, LimitExceeded, NotFound, PermissionDenied, Unavailable
from graveler_core.facade.repository import Repository
from graveler_core.model.webhooks import MAX_WEBHOOKS, HookEvent
from graveler_core.wiring import callbacks
from tests.unit.engine.world import World, entry


@pytest.fixture
def repo() -> Repository:
    return World().repository()


def test_webhooks_are_set_replaced_listed_and_removed(repo: Repository) -> None:
    repo.set_hook("b", "https://example.org/b?x=1", ["post-merge", "pre-commit", "pre-commit"])
    repo.set_hook("a", "http://127.0.0.1:8080", "post-commit", pattern="main", timeout=2.5, attempts=1)
    assert [hook.name for hook in repo.hooks()] == ["a", "b"]
    assert repo.hooks()[1].events == (HookEvent.PRE_COMMIT, HookEvent.POST_MERGE)
    repo.set_hook("b", "https://example.org/c", ["post-commit"], token_variable="GRAVELER_HOOK_T")
    assert repo.hooks()[1].url == "https://example.org/c"
    repo.remove_hook("a")
    assert [hook.name for hook in repo.hooks()] == ["b"]
    with pytest.raises(NotFound, match="'a'") as missing:
        repo.remove_hook("a")
    assert missing.value.kind is Kind.HookNotFound


@pytest.mark.parametrize(
    ("values", "rule"),
    [
        ({"name": ""}, "1 to 63 letters"),
        ({"name": "x" * 64}, "the maximum is 63"),
        ({"name": "a/b"}, "1 to 63 letters"),
        ({"url": "ftp://example.org"}, "must be an http or https URL"),
        ({"url": "http://"}, "must be an http or https URL"),
        ({"url": "http://example.org:99999"}, "must be an http or https URL"),
        ({"url": "http://example.org/a b"}, "must be an http or https URL"),
        ({"url": "http://example.org/\n"}, "must be an http or https URL"),
        ({"url": "http://user:geheim@example.org/"}, "contains a user or a password"),
        ({"url": "http://user:geheim/x@example.org/"}, "must be an http or https URL"),
        ({"url": "htp://user:geheim@example.org/"}, "must be an http or https URL"),
        ({"events": []}, "choose from pre-commit"),
        ({"events": ["pre-comit"]}, "choose from pre-commit"),
        ({"pattern": ""}, "pattern ''"),
        ({"timeout": 0}, "above 0 and at most 60 s"),
        ({"timeout": 61}, "above 0 and at most 60 s"),
        ({"timeout": float("nan")}, "above 0 and at most 60 s"),
        ({"attempts": 0}, "from 1 to 10"),
        ({"attempts": 11}, "from 1 to 10"),
        ({"secret_variable": "AWS_SECRET_ACCESS_KEY"}, "must begin with GRAVELER_HOOK_"),
        ({"token_variable": "GRAVELER_HOOK_lower"}, "must begin with GRAVELER_HOOK_"),
    ],
)
def test_a_wrong_value_is_refused_with_its_rule(repo: Repository, values: dict[str, Any], rule: str) -> None:
    given = {"name": "hook", "url": "http://example.org", "events": ["pre-commit"]} | values
    with pytest.raises(InvalidInput, match=rule) as refused:
        repo.set_hook(given.pop("name"), given.pop("url"), given.pop("events"), **given)
    assert "geheim" not in str(refused.value)
    assert not repo.hooks()


def test_the_number_of_webhooks_is_limited(repo: Repository) -> None:
    for number in range(MAX_WEBHOOKS):
        repo.set_hook(f"h{number}", "http://example.org", ["pre-commit"])
    with pytest.raises(LimitExceeded, match=f"the maximum is {MAX_WEBHOOKS}"):
        repo.set_hook("one-more", "http://example.org", ["pre-commit"])
    repo.set_hook("h0", "http://example.org/again", ["pre-commit"])


def test_runs_of_hooks_are_listed_newest_first_in_pages(tmp_path: Path) -> None:
    with connected(tmp_path, Hook("yes", lambda request, _: None, ("pre-commit",))) as repo:
        for number in range(5):
            repo.branch("main").stage(f"p{number}", entry(number))
            repo.branch("main").commit(f"m{number}")
        messages = [run.request.commit_message for run in repo.hook_runs()]
        assert messages == ["m4", "m3", "m2", "m1", "m0"]
        pages = list(repo.hook_runs().pages(2))
        rest = [run.request.commit_message for run in repo.hook_runs(after=pages[0].next or "")]
        assert rest == ["m2", "m1", "m0"]
        assert repo.deliver_hooks(keep=timedelta(0)).removed == 5
        assert not list(repo.hook_runs())
        with pytest.raises(InvalidInput, match="must not be negative"):
            repo.deliver_hooks(keep=timedelta(-1))


def test_a_function_reads_the_content_before_anyone_sees_it(tmp_path: Path) -> None:
    def no_empty_files(request: HookRequest, repo: graveler.Repository) -> None:
        empty = [found.path for found in repo.at(request.commit_id).list() if not found.size]
        if empty:
            raise ValueError(f"empty files: {empty}")

    with connected(
        tmp_path, Hook("no-empty-files", no_empty_files, ("pre-commit", "pre-merge"), pattern="main")
    ) as repo:
        repo.create_branch("dev", "main").put("a", b"")
        repo.branch("dev").commit("not checked: the pattern is main")
        with pytest.raises(PermissionDenied, match=r"no-empty-files.*empty files: ..a"):
            repo.merge("dev", "main")
        assert not list(repo.branch("main").list())


def test_a_function_may_make_changes_that_call_no_functions(tmp_path: Path) -> None:
    def tag(request: HookRequest, repo: graveler.Repository) -> None:
        repo.create_tag(f"t-{request.commit_id[:8]}", request.commit_id)

    with connected(tmp_path, Hook("tag", tag, ("post-commit", "post-create-tag"))) as repo:
        repo.branch("main").put("a", b"1")
        made = repo.branch("main").commit("m")
        repo._stores.hook_calls.close()
        assert [each.id for each in repo.tags()] == [f"t-{made.id[:8]}"]


def test_a_function_that_exits_after_a_change_has_failed(tmp_path: Path) -> None:
    with connected(tmp_path, Hook("exit", lambda request, _: sys.exit("done"), ("post-commit",))) as repo:
        repo.branch("main").put("a", b"1")
        for number in range(2):
            repo.branch("main").put(f"{number}", b"1")
            repo.branch("main").commit("m")
        repo._stores.hook_calls.close()
        assert [(run.state, run.message) for run in repo.hook_runs()] == [("failed", "SystemExit: done")] * 2


@contextmanager
def connected(directory: Path, *hooks: Hook) -> Iterator[Repository]:
    with graveler.connect(f"sqlite:///{directory}/meta.db?durability=process", hooks=hooks) as g:
        yield g.create_repository("repo", (directory / "data").as_uri())


class Planted:
    """An entry point as a distribution would register it."""

    name, value = "planted", "somewhere:hook"

    def __init__(self, load: Callable[[], object]) -> None:
        self.load = load


@pytest.mark.parametrize(
    ("values", "rule"),
    [
        ({"name": "two words"}, "1 to 63 letters"),
        ({"name": 5}, "1 to 63 letters"),
        ({"run": None}, "must be a function"),
        ({"events": ("pre-commit", "pre-comit")}, "choose from pre-commit"),
        ({"events": ()}, "choose from pre-commit"),
        ({"events": "pre"}, "choose from pre-commit"),
        ({"events": None}, "choose from pre-commit"),
        ({"pattern": "a b"}, "pattern 'a b'"),
        ({"pattern": 5}, "pattern 5"),
        ({"repository": None}, "pattern None"),
    ],
)
def test_a_function_that_could_never_be_called_is_refused(values: dict[str, Any], rule: str) -> None:
    with pytest.raises(InvalidInput, match=rule):
        Hook(**{"name": "check", "run": print, "events": ("pre-commit",)} | values)


def test_the_events_of_a_function_are_one_name_or_several() -> None:
    assert Hook("check", print, "pre-commit").events == ("pre-commit",)  # type: ignore[arg-type]
    several = Hook("check", print, ["pre-commit", "post-merge"])  # type: ignore[arg-type]
    assert several.events == ("pre-commit", "post-merge")
    assert hash(several)


def test_installed_functions_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    hook = Hook("planted", lambda request, _: None, ("pre-commit",))
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [Planted(lambda: hook)])
    assert callbacks._installed_hooks.__wrapped__() == (hook,)


def broken() -> object:
    raise ImportError("no module")


@pytest.mark.parametrize("load", [broken, lambda: "no hook"])
def test_an_installed_function_that_cannot_be_used_is_an_error(
    monkeypatch: pytest.MonkeyPatch, load: Callable[[], object]
) -> None:
    """A change that it might refuse must not go through."""
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [Planted(load)])
    with pytest.raises(Unavailable, match=r"'planted' \(somewhere:hook\)"):
        callbacks._installed_hooks.__wrapped__()
