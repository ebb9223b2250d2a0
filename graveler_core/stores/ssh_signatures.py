"""SSH signatures of tags, made and checked by the command `ssh-keygen -Y` of OpenSSH 8.2 or later, as Git uses it.

A signature covers the name, the commit, the tagger, the metadata and the message of a tag, and the tree or the tag that
it names, with that tag's signature. The commit id covers content and history. The file of allowed signers has the
format of `ssh-keygen`: in each line a principal and its public key.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from graveler_core.codec.records import encode
from graveler_core.errors import InvalidInput, PermissionDenied, Unavailable
from graveler_core.model.commit_texts import tag_texts
from graveler_core.model.entities import Commit, Tag
from graveler_core.model.ids import CommitId
from graveler_core.model.names import commit_id, tag_id
from graveler_core.model.past import created

NAMESPACE: Final = "graveler-tag"
"""Namespace of the signatures. A signature that was made for something else is not valid for a tag."""


def ssh_signature(  # noqa: PLR0913 - what a signature covers
    key: str | Path,
    name: str,
    commit: str,
    message: str = "",
    *,
    tagger: str = "",
    metadata: Mapping[str, str] | None = None,
    tree: str = "",
    tagged: Tag | None = None,
) -> str:
    """Sign a tag with an SSH key, for `Repository.create_tag(…, signature=…)`.

    Args:
        key: Path of the private key, or of the public key if an SSH agent holds the private one.
        name: Name of the tag.
        commit: Id of its commit.
        message: Its message.
        tagger: Its tagger.
        metadata: Its metadata.
        tree: For a tag of a tree: `Snapshot.tree_id` of the commit.
        tagged: For a tag of a tag: that tag, as `Repository.tag` returns it.

    Returns:
        The signature, as text.

    Raises:
        InvalidInput: The name, the commit id or the message is not valid; or there is no such key, or it cannot sign.
        Unavailable: OpenSSH is not installed.
    """
    texts = tag_texts(message, "", tagger, metadata)
    named = {"commit_id": commit_id("commit", commit), "tree": tagged.tree if tagged else tree, "tagged": tagged}
    signed = _payload(Tag(id=tag_id(name), commit_id=CommitId(""), **texts).model_copy(update=named))
    if not Path(key).is_file():
        raise InvalidInput(f"SSH key {str(key)!r}: there is no such file")
    done = _ssh_keygen(["sign", "-n", NAMESPACE, "-f", str(key)], signed)
    if done.returncode:
        raise InvalidInput(f"SSH key {str(key)!r}: cannot sign: {_reason(done)}")
    return done.stdout.decode()


@dataclass(frozen=True, slots=True)
class SshVerifier:
    """Function that refuses tags without a valid SSH signature of an allowed signer: `connect(verify_tag=…)`."""

    allowed_signers: str | Path
    """Path of the file of allowed signers."""

    def __call__(self, tag: Tag, commit: Commit | None = None) -> str:
        """Return the principal that signed a tag.

        Raises:
            PermissionDenied: The tag has no SSH signature, no allowed signer made it, or it is for another tag.
            InvalidInput: There is no file of allowed signers.
            Unavailable: OpenSSH is not installed.
        """
        del commit  # the signature covers its id
        allowed = Path(self.allowed_signers)
        if not allowed.is_file():
            raise InvalidInput(f"allowed signers {str(allowed)!r}: there is no such file")
        if not tag.signature.startswith("-----BEGIN SSH SIGNATURE-----"):
            raise PermissionDenied(f"tag {tag.id!r} has no SSH signature", tag=tag.id)
        with tempfile.TemporaryDirectory() as directory:
            signature = Path(directory, "signature")
            signature.write_text(tag.signature)
            given = ["-f", str(allowed), "-s", str(signature)]
            found = _ssh_keygen(["find-principals", *given], b"")
            signer = found.stdout.decode().partition("\n")[0]
            if found.returncode or not signer:
                raise PermissionDenied(f"tag {tag.id!r} is not signed by an allowed signer", tag=tag.id)
            signed = _payload(tag)
            done = _ssh_keygen(["verify", "-n", NAMESPACE, "-I", signer, *given], signed)
        if done.returncode:
            raise PermissionDenied(f"tag {tag.id!r}: its signature is not valid for it: {_reason(done)}", tag=tag.id)
        return signer


def _payload(tag: Tag) -> bytes:
    """Return the signed bytes. Tagger, metadata, tree, and the digest of the tag that this one names are one line each,
    and are left out if they are empty.
    """
    lines = ["graveler tag 1", f"tag {tag.id}", f"commit {tag.commit_id}"]
    lines += [f"tagger {json.dumps(tag.tagger)}"] if tag.tagger else []
    lines += [f"metadata {json.dumps(tag.metadata, sort_keys=True)}"] if tag.metadata else []
    lines += [f"tree {tag.tree}"] if tag.tree else []
    if tag.tagged is not None:
        settled = tag.tagged.model_copy(update={"past": created(tag.tagged.past)})
        lines.append(f"tag-digest {hashlib.sha256(encode(settled)).hexdigest()}")
    return "\n".join([*lines, "", tag.message]).encode()


def _ssh_keygen(arguments: Sequence[str], given: bytes) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(["ssh-keygen", "-Y", *arguments], input=given, capture_output=True, check=False)  # noqa: S603, S607
    except FileNotFoundError as missing:
        raise Unavailable("ssh-keygen is not installed; SSH signatures need OpenSSH") from missing


def _reason(done: subprocess.CompletedProcess[bytes]) -> str:
    said = (done.stderr + done.stdout).decode(errors="replace").strip().splitlines()
    return said[-1] if said else f"ssh-keygen ended with code {done.returncode}"
