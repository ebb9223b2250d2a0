"""A refused name says the rule, and proposes one that is allowed."""

from __future__ import annotations

import re
from collections.abc import Callable

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graveler_core.cli.uri import new_ref_uri, ref_in, ref_uri
from graveler_core.codec.entry import normalise
from graveler_core.codec.entry_rules import require_new_keys
from graveler_core.errors import InvalidInput, Kind
from graveler_core.model.names import (
    allowed_name,
    branch_id,
    is_ref_name,
    new_path_key,
    proposed_ref,
    repository_id,
)
from graveler_core.refs.expression import parse


@pytest.mark.parametrize(
    ("check", "name", "proposed"),
    [
        (branch_id, "feature/x", "'feature-x'"),
        (branch_id, "-draft", "'draft'"),
        (branch_id, "v1..v2", "'v1.v2'"),
        (branch_id, "naïve plan", "'na-ve-plan'"),
        (repository_id, "My Lake", "'my-lake'"),
    ],
)
def test_a_refused_name_comes_with_one_that_is_allowed(check: Callable[[str], str], name: str, proposed: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        check(name)
    assert raised.value.message.endswith(f"; for example {proposed}")
    assert check(proposed.strip("'")) == proposed.strip("'")


@pytest.mark.parametrize(
    ("check", "name"), [(branch_id, "///"), (branch_id, ""), (branch_id, "int"), (repository_id, "a")]
)
def test_a_name_that_resembles_nothing_comes_without(check: Callable[[str], str], name: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        check(name)
    assert "for example" not in raised.value.message


@given(st.text(max_size=300))
def test_a_proposed_name_is_allowed(text: str) -> None:
    for_ref, for_repository = allowed_name(text), allowed_name(text, repository=True)
    assert not for_ref or is_ref_name(for_ref)
    assert not for_repository or repository_id(for_repository) == for_repository


@pytest.mark.parametrize(
    "call",
    [
        lambda: new_ref_uri("graveler://flights/feature/x"),
        lambda: ref_uri("graveler://flights/feature/x"),
        lambda: ref_in("flights", "feature/x"),
        lambda: parse("feature/x"),
    ],
    ids=["name to create", "URI of a ref", "ref", "expression"],
)
def test_a_ref_with_a_slash_comes_with_one_that_is_allowed(call: Callable[[], object]) -> None:
    with pytest.raises(InvalidInput, match=r"; names of branches and tags have no '/', for example 'feature-x'$"):
        call()
    assert new_ref_uri("graveler://flights/feature-x").ref == "feature-x"


def test_the_rest_of_an_expression_stays() -> None:
    assert proposed_ref("feature/x~1").endswith(" 'feature-x~1'")
    assert proposed_ref("main~1") == proposed_ref("///") == ""


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        ("/a", "relative"),
        ("/", "relative"),
        ("a//", "'//'"),
        ("a/../", "'..'"),
        ("a//b", "'//'"),
        ("..", "segment '..'"),
        ("a/../b", "segment '..'"),
        ("a/..", "segment '..'"),
        ("./a", "segment '.'"),
        ("a\\b", "backslash"),
        ("a\n", "control"),
        ("a/..\n", "control"),
        ("\x7f", "control"),
        ("a\x9bb", "control"),
        ("", "empty"),
        ("a\0b", "NUL"),
    ],
)
def test_a_path_that_no_new_entry_may_have_is_refused_with_its_rule(path: str, rule: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(rule)) as refused:
        new_path_key(path)
    assert repr(path) in refused.value.message
    assert refused.value.kind is Kind.InvalidPath


@given(st.text("a/.\\\n\x7f é\x9b", min_size=1, max_size=8))
def test_columns_are_refused_as_single_paths_are(path: str) -> None:
    table = pa.table({"key": sorted({"0", path, "z"}, key=str.encode), "data": [b""] * len({"0", path, "z"})})

    def refused(check: Callable[[], object]) -> str:
        try:
            check()
        except InvalidInput as e:
            return e.message
        return ""

    assert refused(lambda: require_new_keys(normalise(table))) == refused(lambda: new_path_key(path))
