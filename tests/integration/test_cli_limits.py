"""Limits on the command line: a value at the limit is accepted, one above it is refused in one line."""

from __future__ import annotations

import pytest

from tests.integration.command_line import Cli, refused

REPO = "graveler://flights"
CALLS = [
    ("commit", 32_000, lambda n: ("commit", f"{REPO}/main", "-m", "m" * (n - 2), "--allow-empty")),
    ("metadata", 32_768, lambda n: ("repo", "metadata", REPO, "--set", f"k={'x' * (n - 9)}")),
    ("branch", 255, lambda n: ("branch", "create", f"{REPO}/{'b' * n}")),
    ("tag", 255, lambda n: ("tag", "create", f"{REPO}/{'t' * n}", "main")),
    ("path", 1_000, lambda n: ("put", "local/readme", f"{REPO}/main/{'p' * n}")),
    ("pattern", 255, lambda n: ("branch", "protect", f"{REPO}/{'p' * n}")),
]


@pytest.mark.parametrize(("maximum", "call"), [row[1:] for row in CALLS], ids=[row[0] for row in CALLS])
def test_a_limit_of_the_command_line(flights: Cli, maximum: int, call: object) -> None:
    assert callable(call)
    refused(flights(*call(maximum + 1)), f"has {maximum + 1:,}", f"the maximum is {maximum:,}")
    ran = flights(*call(maximum))
    assert ran.code == 0, ran.err
