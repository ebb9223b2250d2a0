"""SSH signatures of tags, with the real ssh-keygen: by whom, for which tag, and what is refused."""

from __future__ import annotations

import pickle
import subprocess
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from graveler_core.errors import InvalidInput, PermissionDenied, Unavailable
from graveler_core.facade.graveler import Graveler
from graveler_core.stores.hooks import Hooks
from graveler_core.stores.ssh_signatures import SshVerifier, ssh_signature
from tests.unit.engine.world import World


def new_key(path: Path) -> str:
    """The public key of a new pair."""
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", path], check=True)
    return path.with_suffix(".pub").read_text().strip()


@pytest.fixture
def allowed(tmp_path: Path) -> Path:
    """Ada may sign, with `ada`; `eve` is a key that nobody has allowed."""
    file = tmp_path / "allowed"
    file.write_text(f"ada@example.com {new_key(tmp_path / 'ada')}\n")
    new_key(tmp_path / "eve")
    return file


def test_a_signed_tag_is_verified_and_every_other_one_refused(tmp_path: Path, allowed: Path) -> None:
    world = World()
    world.repository()
    verifier: SshVerifier = pickle.loads(pickle.dumps(SshVerifier(allowed)))
    repo = Graveler(replace(world.stores(), hooks=Hooks(verify_tag=verifier))).repository("repo")
    head = repo.commit("main").id
    signature = ssh_signature(tmp_path / "ada", "v1", head, "reviewed: é")
    tag = repo.create_tag("v1", "main", message="reviewed: é", signature=signature)
    assert repo.verify_tag("v1") == tag
    assert verifier(tag) == "ada@example.com"
    repo.branch("main").commit("next", allow_empty=True)
    for name, ref, message, given, rule in [
        ("v2", "main~1", "reviewed: é", signature, "not valid for it"),
        ("v1", "main", "reviewed: é", signature, "not valid for it"),
        ("v1", "main~1", "other", signature, "not valid for it"),
        ("v1", "main~1", "", "", "no SSH signature"),
        ("v1", "main~1", "", ssh_signature(tmp_path / "eve", "v1", head), "allowed signer"),
        ("v1", "main~1", "", signature[:60] + "-----END SSH SIGNATURE-----\n", "allowed signer"),
    ]:
        said = {"message": message, "signature": given}
        create = partial(repo.create_tag, name, ref, **said)
        with pytest.raises(PermissionDenied, match=rule):
            create() if name == "v2" else repo.assign_tag(name, ref, expected=head, **said)
    assert list(repo.tags()) == [tag]


def test_a_signature_covers_tagger_and_metadata(tmp_path: Path, allowed: Path) -> None:
    world = World()
    repo, verifier = world.repository(), SshVerifier(allowed)
    head, said = repo.commit("main").id, {"tagger": 'ada "x"\nmessage', "metadata": {"k": "v", "a": "\u20ac"}}
    signature = ssh_signature(tmp_path / "ada", "v1", head, "reviewed", **said)
    tag = repo.create_tag("v1", "main", message="reviewed", signature=signature, **said)
    assert verifier(tag) == "ada@example.com"
    for other in ({"tagger": ""}, {"tagger": "eve"}, {"metadata": {}}, {"metadata": {"k": "v"}}):
        with pytest.raises(PermissionDenied, match="not valid for it"):
            verifier(tag.model_copy(update=other))


def test_a_signature_covers_what_the_tag_names(tmp_path: Path, allowed: Path) -> None:
    """The tag that it names with its signature, and the tree."""
    repo, verifier = World().repository(), SshVerifier(allowed)
    key, head, tree = tmp_path / "ada", repo.commit("main").id, repo.at("main").tree_id()
    first = repo.create_tag("v1", "main", message="first", signature=ssh_signature(key, "v1", head, "first"))
    repo.assign_tag("v1", "main", expected=head, message="first", signature=first.signature, tagger="eve")
    first = repo.assign_tag("v1", "main", expected=head, message="first", signature=first.signature)
    of_tag = repo.create_tag("v2", "v1", target="tag", signature=ssh_signature(key, "v2", head, tagged=first))
    of_tree = repo.create_tag("v3", "main", target="tree", signature=ssh_signature(key, "v3", head, tree=tree))
    inner = of_tag.tagged
    assert inner is not None
    for tag in (inner, of_tag, of_tree):
        assert verifier(tag) == "ada@example.com"
    changed = [
        of_tag.model_copy(update={"tagged": None}),
        of_tag.model_copy(update={"tagged": inner.model_copy(update={"message": "other"})}),
        of_tag.model_copy(update={"tagged": inner.model_copy(update={"signature": ""})}),
        of_tree.model_copy(update={"tree": ""}),
        of_tree.model_copy(update={"tree": "0" * 64}),
    ]
    for other in changed:
        with pytest.raises(PermissionDenied, match="not valid for it"):
            verifier(other)


def test_a_signature_for_another_purpose_is_none_for_a_tag(tmp_path: Path, allowed: Path) -> None:
    repo = World().repository()
    head = repo.commit("main").id
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("graveler_core.stores.ssh_signatures.NAMESPACE", "git")
        signature = ssh_signature(tmp_path / "ada", "v1", head)
    tag = repo.create_tag("v1", "main", signature=signature)
    with pytest.raises(PermissionDenied, match="not valid"):
        SshVerifier(allowed)(tag)


def test_what_is_missing_is_named(tmp_path: Path, allowed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = World().repository()
    head = repo.commit("main").id
    with pytest.raises(InvalidInput, match="no such file"):
        ssh_signature(tmp_path / "none", "v1", head)
    with pytest.raises(InvalidInput, match="cannot sign"):
        ssh_signature(allowed, "v1", head)
    with pytest.raises(InvalidInput, match="64 characters"):
        ssh_signature(tmp_path / "ada", "v1", "main")
    with pytest.raises(InvalidInput, match="no such file"):
        SshVerifier(tmp_path / "none")(repo.create_tag("v1", "main"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Unavailable, match="OpenSSH"):
        ssh_signature(tmp_path / "ada", "v1", head)
