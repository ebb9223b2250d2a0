"""Steps on checks: reports, and the branches that require them."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.proofs.differential.model import INVALID, READ_ONLY, Refusals, Refused
from tests.proofs.differential.refs import committed, ref
from tests.proofs.differential.steps.merging import merge
from tests.proofs.differential.world import World

NAMES = ("rows", "keys", "é")
PATTERNS = ("main", "dev", "*", "b?", "B2")


def report(w: World, r: Random) -> None:
    """Report a check on a commit or on a tree."""
    name, passed, text = r.choice(NAMES), r.random() < 0.6, ref(w, r)
    url, message = r.choice(("", "https://ci/1")), r.choice(("", "é \U0001f600"))
    handle, may = w.use(r), _read_only(w)
    w.said = ("report check", name, passed, text, url, message)
    if r.random() < 0.3:
        _on_tree(w, r, name, passed)
        return
    id = ""
    try:
        id = w.model.commit_of(text)
    except Refused as refused:
        may.add(refused.refusal)
    options: dict[str, Any] = {"url": url, "message": message}
    made = w.attempt(may, lambda: handle.repo.report_check(name, passed, commit=text, **options))
    if made is not None:
        w.equal("report", (made.name, made.passed, made.url, made.message, made.by), (name, passed, url, message, ""))
        w.model.checks.report(id, name, passed, url, message)
        _same_reports(w, r, text)


def bad_reports(w: World, r: Random) -> None:
    """Refuse reports on nothing, on two things, or without a result."""
    repo = w.use(r).repo
    w.said = ("bad reports",)
    for name, passed, subject in (
        ("rows", True, {}),
        ("rows", True, {"commit": "main", "tree": "0" * 64}),
        ("rows", "yes", {"commit": "main"}),
        ("", True, {"commit": "main"}),
        ("a\nb", True, {"commit": "main"}),
        ("rows", True, {"tree": "main"}),
        ("rows", True, {"commit": "main", "url": 5}),
    ):
        options: dict[str, Any] = dict(subject)
        w.refused(BAD | _read_only(w), lambda n=name, p=passed, o=options: repo.report_check(n, p, **o))
    w.refused(BAD, lambda: repo.require_checks("a b", ["rows"]))
    w.refused(BAD, lambda: repo.require_checks("main", [""]))


BAD: Refusals = {INVALID, ("InvalidInput", "InvalidName")}


def require(w: World, r: Random) -> None:
    """Set or remove a rule, mostly of short life."""
    model, repo = w.model.checks, w.use(r).repo
    pattern, names = r.choice(PATTERNS), r.choices(NAMES, k=r.randint(1, 3))
    if model.rules and r.random() < 0.7:
        pattern, names = r.choice([*model.rules]), []
    w.said = ("require checks", pattern, names)
    found = repo.require_checks(pattern, names)
    model.require(pattern, names)
    w.equal("required checks", found, dict(sorted(model.rules.items())))
    w.equal("required checks, elsewhere", w.use(r).repo.required_checks(), found)


def approve(w: World, r: Random) -> None:
    """Report every required check on the head of each branch or on its tree, now and then a failed one."""
    if w.model.read_only:
        return
    w.said = ("approve",)
    names = sorted({name for rule in w.model.checks.rules.values() for name in rule})
    for branch in [*w.model.branches.values()]:
        for name in names:
            passed, repo, head = r.random() < 0.85, w.use(r).repo, f"{branch.name}@"
            if r.random() < 0.4:
                repo.report_check(name, passed, tree=repo.at(head).tree_id())
                w.model.checks.report(w.model.head(branch), name, passed, "", "")
            else:
                repo.report_check(name, passed, commit=head)
                w.model.checks.report(branch.head, name, passed, "", "")


def merges_with_rules(w: World, r: Random) -> None:
    """Merge while every branch requires checks, which may have been reported."""
    pattern, names = "[!-]*", r.choices(NAMES, k=r.randint(1, 2))
    w.said = ("merges with rules", names)
    w.use(r).repo.require_checks(pattern, names)
    w.model.checks.require(pattern, names)
    for _ in range(3):
        if r.random() < 0.6:
            approve(w, r)
        merge(w, r)
    w.use(r).repo.require_checks(pattern, [])
    w.model.checks.require(pattern, [])


def look(w: World, r: Random) -> None:
    """List the reports on a commit."""
    text = committed(w, r)
    w.said = ("checks", text)
    _same_reports(w, r, text)


def _same_reports(w: World, r: Random, text: str) -> None:
    id = w.model.resolve(text)
    found = {name: (c.passed, c.url, c.message) for name, c in w.use(r).repo.checks(text).items()}
    wanted = {name: report[1:] for name, report in w.model.checks.of(id, w.model.content(id)).items()}
    w.equal("checks", [*found.items()], [*wanted.items()])


def _on_tree(w: World, r: Random, name: str, passed: bool) -> None:
    """Report on the content of a commit, or on what a branch shows, which may be committed later."""
    if r.random() < 0.5:
        branch = r.choice([*w.model.branches.values()])
        text, content = f"{branch.name}$", dict(branch.shown)
    else:
        text = f"{r.choice([*w.model.branches])}@"
        content = dict(w.model.content(w.model.resolve(text)))
    w.said = ("report check on a tree", name, passed, text)
    tree = w.use(r).repo.at(text).tree_id()
    if w.attempt(_read_only(w), lambda: w.use(r).repo.report_check(name, passed, tree=tree)) is not None:
        w.model.checks.report(content, name, passed, "", "")
        _same_reports(w, r, text.replace("$", "@"))


def _read_only(w: World) -> Refusals:
    return {READ_ONLY} if w.model.read_only else set()
