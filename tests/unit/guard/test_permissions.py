"""Tests of permissions: every public method of the handles, without each permission that it needs.

The matrix is made from the façade itself. A method without a rule, or without a sample call, fails; so does a rule that
is added or dropped without `permissions.txt` saying so, which is to be read by a person.
"""

from __future__ import annotations

import inspect
import re
from abc import ABC
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import MemberDescriptorType
from typing import Any

import pytest

import graveler_core.facade
from graveler_core.errors import GravelerError, Kind, PermissionDenied
from graveler_core.facade.branch import Branch
from graveler_core.guard.operation import MARK, GuardedOperation, operation
from graveler_core.model.permission import Action, Request, namespace_resource
from tests.unit.engine.world import World
from tests.unit.guard.principals import AllBut, state
from tests.unit.guard.samples import CLEAN, ERRORS, EXEMPT, HANDLES, NAME, handle, scene

GOLDEN = Path(__file__).with_name("permissions.txt")
FILTERS = (Action.SET_COMMITTER,)
"""Where these are missing something else is done, and nothing refused."""
REDACTED = {
    (Branch, "record"): {Action.LIST_OBJECTS},
    (Branch, "pressure"): {Action.LIST_OBJECTS, Action.READ_HOOKS, Action.GET_BRANCH_PROTECTION},
}
"""Where these permissions are missing, staged prefixes, webhooks or rules are hidden, and nothing is refused."""
NO_HANDLES = {
    "_EntryFiles",
    "CommitRecord",
    "ContentFile",
    "ImportOptions",
    "Imported",
    "KnownBranch",
    "Listing",
    "MigratedId",
    "Page",
    "ReflogEntry",
}
"""Classes of the façade without operations: values, iterators over what was asked for, and handles that were opened
together.
"""
PARTS = {
    "AccessHandle",
    "Checks",
    "Deletion",
    "DirectUploads",
    "Dumping",
    "Erasing",
    "Handle",
    "Health",
    "HookSettings",
    "Importing",
    "Maintenance",
    "Merging",
    "MetadataSettings",
    "MigrationCompletion",
    "MigrationFromLakefs",
    "MigrationFromNessie",
    "MigrationFromSql",
    "NessieExports",
    "ObjectTable",
    "PartStaging",
    "Policies",
    "Protection",
    "ReadableRef",
    "References",
    "Reflog",
    "RepositoryOptions",
    "RepositoryUploads",
    "RetentionSettings",
    "Scanning",
    "Staging",
    "Tasks",
    "Users",
}
"""Of `Repository` and `Graveler`."""
ALL = [(cls, name) for cls, samples in HANDLES.items() for name in samples]


def classes() -> dict[str, type]:
    modules = [
        import_module(f"graveler_core.facade.{module.name}") for module in iter_modules(graveler_core.facade.__path__)
    ]
    found = [
        cls
        for module in modules
        for _, cls in inspect.getmembers(module, inspect.isclass)
        if cls.__module__ == module.__name__
    ]
    return {cls.__name__: cls for cls in found}


def public(cls: type) -> dict[str, Any]:
    """Methods and properties, no fields."""
    named = {name: inspect.getattr_static(cls, name) for name in dir(cls) if not name.startswith("_")}
    return {name: what for name, what in named.items() if not isinstance(what, MemberDescriptorType)}


def operation_of(cls: type, name: str) -> GuardedOperation | None:
    what = inspect.getattr_static(cls, name)
    found: GuardedOperation | None = getattr(what.fget if isinstance(what, property) else what, MARK, None)
    return found


def shown(request: Request) -> str:
    said = "".join(f" {key.partition(':')[2]}={value}" for key, value in request.context.items() if value != "repo")
    resource = request.resource.removeprefix("arn:graveler:fs:::") + ("…" if request.prefix else "")
    return re.sub("[0-9a-f]{32,64}", "<id>", f"{request.action} {resource}{said}")


def call(world: World, cls: type, name: str, principal: AllBut) -> object:
    """The sample, without the iteration of what it gives."""
    return HANDLES[cls][name](handle(world, cls, principal))


def asked(world: World, cls: type, name: str) -> list[Request]:
    """What a sample asks for when it is allowed everything."""
    principal = AllBut()
    with pytest.raises(GravelerError) if name in ERRORS else nullcontext():
        call(fork(world, name), cls, name, principal)
    return principal.asked


def without(request: Request) -> AllBut:
    """Who may do everything but this; where a sample makes up a new place each time, nothing in that directory."""
    if request.resource.startswith(namespace_resource(f"memory://{NAME}/")):
        request = replace(request, resource=request.resource.rpartition("/")[0], prefix=True)
    return AllBut(request)


def fork(world: World, name: str) -> World:
    """The scene as a method wants it."""
    made = world.fork()
    if name in CLEAN:
        made.branch(name="work").reset()
    return made


@pytest.fixture(scope="module")
def world() -> World:
    return scene()


def test_every_class_of_the_facade_is_known() -> None:
    assert classes().keys() == {cls.__name__ for cls in HANDLES} | NO_HANDLES | PARTS
    bases = {base.__name__ for cls in HANDLES for base in cls.__mro__[1:-1] if base is not ABC}
    assert bases == PARTS | {"CommitRecord"}


@pytest.mark.parametrize("cls", HANDLES, ids=lambda cls: cls.__name__)
def test_every_method_has_a_rule_and_a_sample(cls: type) -> None:
    methods = public(cls).keys()
    assert methods == HANDLES[cls].keys() | EXEMPT[cls].keys()
    assert not HANDLES[cls].keys() & EXEMPT[cls].keys()
    for name in methods:
        found = operation_of(cls, name)
        assert (found is None) == (name in EXEMPT[cls]), name
        assert found is None or (found.name and found.rules), name


def test_what_is_asked_is_what_was_decided(world: World) -> None:
    lines = [f"{cls.__name__}.{name}: {shown(request)}" for cls, name in ALL for request in asked(world, cls, name)]
    assert lines == GOLDEN.read_text().splitlines()


@pytest.mark.parametrize(("cls", "name"), ALL, ids=lambda part: part if isinstance(part, str) else part.__name__)
def test_whatever_permission_is_missing_the_call_is_denied(world: World, cls: type, name: str) -> None:
    optional = {*FILTERS, *REDACTED.get((cls, name), ())}
    needed = [request for request in asked(world, cls, name) if request.action not in optional]
    assert needed
    for missing in needed:
        scene = fork(world, name)
        used, before = handle(scene, cls, without(missing)), state(scene)
        with pytest.raises(PermissionDenied) as refused:
            HANDLES[cls][name](used)
        assert refused.value.kind is Kind.AccessDenied
        assert refused.value.details["action"] == str(missing.action)
        assert refused.value.details["resource"] in refused.value.message
        assert state(scene) == before, missing


@pytest.mark.parametrize(("cls", "name"), ALL, ids=lambda part: part if isinstance(part, str) else part.__name__)
def test_with_all_of_them_it_is_let_through(world: World, cls: type, name: str) -> None:
    if name in ERRORS:
        with pytest.raises(GravelerError, match=ERRORS[name]) as failed:
            call(fork(world, name), cls, name, AllBut())
        assert not isinstance(failed.value, PermissionDenied)
        return
    found = call(fork(world, name), cls, name, AllBut())
    if isinstance(found, Iterator):
        for _ in found:  # nothing more is asked for that could be refused
            continue


@pytest.mark.parametrize(("cls", "name"), ALL, ids=lambda part: part if isinstance(part, str) else part.__name__)
def test_a_rule_that_is_dropped_is_missed(world: World, monkeypatch: pytest.MonkeyPatch, cls: type, name: str) -> None:
    whole, what = asked(world, cls, name), inspect.getattr_static(cls, name)
    method = what.fget if isinstance(what, property) else what
    found = operation_of(cls, name)
    assert found is not None
    for dropped in range(len(found.rules)):
        left = found.rules[:dropped] + found.rules[dropped + 1 :]
        bare = operation(found.name, *left)(inspect.unwrap(method))
        monkeypatch.setattr(cls, name, property(bare) if isinstance(what, property) else bare)
        assert asked(world, cls, name) != whole, found.rules[dropped]
