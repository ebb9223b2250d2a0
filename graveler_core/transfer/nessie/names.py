"""Names of branches and tags in Nessie, and in graveler, which allows fewer names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from graveler_core.errors import InvalidInput, Kind
from graveler_core.model.names import allowed_name, is_ref_name

RENAMED = "nessie.name."
"""Beginning of the keys of repository metadata that hold the names in Nessie: `nessie.name.branch.feature-x`."""


def local_names(what: str, names: Iterable[str]) -> dict[str, str]:
    """Return the new name of each branch or tag: the same, or a similar one that is allowed.

    Raises:
        InvalidInput: A name has no allowed form, or two names have the same one.
    """
    found: dict[str, str] = {}
    used: dict[str, str] = {}
    for name in sorted(names, key=lambda name: (not is_ref_name(name), name)):
        new = name if is_ref_name(name) else allowed_name(name)
        if not new or new in used:
            why = f"and {used[new]!r} would both be {new!r}" if new else "has no form that graveler allows"
            raise InvalidInput(f"{what} {name!r} {why}; rename it in Nessie first", kind=Kind.InvalidName, name=name)
        found[name] = new
        used[new] = name
    return found


def kept_names(branches: Mapping[str, str], tags: Mapping[str, str]) -> dict[str, str]:
    """Return the repository metadata that keeps the names of renamed branches and tags."""
    return {
        f"{RENAMED}{what}.{new}": name
        for what, names in (("branch", branches), ("tag", tags))
        for name, new in names.items()
        if new != name
    }


def original_name(what: str, name: str, metadata: Mapping[str, str]) -> str:
    """Return the name of a branch or tag in Nessie."""
    return metadata.get(f"{RENAMED}{what}.{name}", name)
