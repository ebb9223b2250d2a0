"""What a user does wrong is one error, without an internal one before it in the traceback."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from graveler_core import connect
from graveler_core.errors import GravelerError
from graveler_core.facade.graveler import Graveler

MISTAKES: dict[str, Callable[[Graveler], object]] = {
    "repository exists": lambda g: g.create_repository("lake", f"{g.repository('lake').storage_namespace}-2"),
    "namespace in use": lambda g: g.create_repository("other", g.repository("lake").storage_namespace),
    "branch exists": lambda g: g.repository("lake").create_branch("dev", source="main"),
    "tag exists": lambda g: g.repository("lake").create_tag("v1", "main"),
    "path exists": lambda g: g.repository("lake").branch("main").put("a", b"", if_absent=True),
    "another entry": lambda g: (
        g.repository("lake").branch("main").stage_if("a", g.repository("lake").branch("dev").get("a"), None)
    ),
    "no repository": lambda g: g.repository("none").branch("main").get("a"),
    "no branch": lambda g: g.repository("lake").branch("none").get("a"),
    "no ref": lambda g: g.repository("lake").at("none"),
    "no path": lambda g: g.repository("lake").branch("main").read("none"),
    "no tag": lambda g: g.repository("lake").delete_tag("none"),
    "tag at another commit": lambda g: g.repository("lake").delete_tag("v1", expected="0" * 64),
    "default branch": lambda g: g.repository("lake").delete_branch("main"),
    "nothing to undelete": lambda g: g.repository("lake").undelete_branch("none"),
    "name": lambda g: g.repository("lake").create_branch("feature/x", source="main"),
    "path": lambda g: g.repository("lake").branch("main").put("../a", b""),
    "no bytes": lambda g: g.repository("lake").branch("main").put("b", "text"),  # type: ignore[arg-type]
    "nothing to commit": lambda g: g.repository("lake").branch("dev").commit("nothing"),
    "conflict": lambda g: g.repository("lake").merge("dev", into="theirs"),
    "staged changes": lambda g: g.repository("lake").merge("dev", into="main"),
    "protected": lambda g: g.repository("lake").branch("release").put("a", b""),
    "no signed URLs": lambda g: g.repository("lake").branch("main").presign("a"),
    "unknown store": lambda g: connect("nope://x"),
}


@pytest.fixture(scope="module")
def g(tmp_path_factory: pytest.TempPathFactory) -> Graveler:
    g = connect("memory://")
    repo = g.create_repository("lake", (tmp_path_factory.mktemp("errors") / "lake").as_uri())
    main = repo.branch("main")
    main.put("a", b"1")
    main.commit("one")
    repo.create_tag("v1", "main")
    for name in ("dev", "theirs", "release"):
        branch = repo.create_branch(name, source="main")
        branch.put("a", name.encode())
        branch.commit(name)
    repo.protect("release")
    main.put("staged", b"")
    return g


@pytest.mark.parametrize("mistake", MISTAKES)
def test_nothing_is_chained(g: Graveler, mistake: str) -> None:
    with pytest.raises(GravelerError) as raised:
        MISTAKES[mistake](g)
    error = raised.value
    assert error.__cause__ is None
    assert error.__suppress_context__ or error.__context__ is None
