"""Ref expressions: mostly of commits that exist."""

from __future__ import annotations

from random import Random

from tests.proofs.differential.world import World

BAD = ("", "a b", "main~1@", "a/b", "main@@", "..", "main..dev", "-x", "int", "é")


def ref(w: World, r: Random, *, bad: float = 0.04) -> str:
    """An expression: a branch, tag, id or beginning of an id, perhaps with steps or a view."""
    model = w.model
    chance = r.random()
    if chance < bad:
        return r.choice((*BAD, "absent", "ffffffff", "main~999", "main^3", "v1@", "v2$", "abc"))
    if chance < 0.55:
        name = r.choice([*model.branches])
        return name + r.choice(("", "", "", "@", "@", "$", "~", "~1", "~2", "~3", "^", "^1", "^2", "~~", "~2^2", "^0"))
    if chance < 0.65 and model.tags:
        return r.choice([*model.tags]) + r.choice(("", "", "~", "^2"))
    id = r.choice([*model.commits])
    return id[: r.choice((64, 64, 64, 12, 6, 4))] + r.choice(("", "", "", "~", "~0", "^"))


def committed(w: World, r: Random) -> str:
    """An expression of a commit, which exists."""
    if r.random() < 0.5:
        return f"{r.choice([*w.model.branches])}@"
    return r.choice([*w.model.commits])
