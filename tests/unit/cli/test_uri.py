"""URIs: what they name, and one clear refusal for each way to get them wrong."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graveler_core.cli import uri
from graveler_core.cli.uri import RefRange, Uri
from graveler_core.errors import InvalidInput, Kind


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("graveler://flights", Uri("flights")),
        ("graveler://flights/", Uri("flights")),
        ("graveler://flights/main", Uri("flights", "main")),
        ("graveler://flights/main/", Uri("flights", "main")),
        ("graveler://flights/main~2/a/b.parquet", Uri("flights", "main~2", "a/b.parquet")),
        ("graveler://flights/main//a", Uri("flights", "main", "/a")),
        ("graveler://flights/main/a%20b?c#d [red]", Uri("flights", "main", "a%20b?c#d [red]")),
        ("graveler://flights/main/a/", Uri("flights", "main", "a/")),
    ],
)
def test_names_repository_ref_and_path(text: str, named: Uri) -> None:
    assert uri.parse(text) == named


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=200))
def test_takes_any_path_as_it_is_written(path: str) -> None:
    assert uri.parse(f"graveler://flights/main/{path}").path == path
    assert uri.parse(str(Uri("flights", "main", path))) == Uri("flights", "main", path)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("flights/main/a", "must begin with graveler://"),
        ("", "must begin with graveler://"),
        ("s3://flights/main", "must begin with graveler://"),
        ("Graveler://flights", "must begin with graveler://"),
        ("graveler://", "must name a repository"),
        ("graveler:///main", "must name a repository"),
        ("graveler://flights//a", "must name a ref before the path"),
        ("graveler://Flights/main", "must have 3 to 63"),
        ("graveler://flights/main/a\0b", "must not contain NUL"),
        ("graveler://flights/main/" + "x" * 1001, "the maximum is 1,000"),
    ],
)
def test_refuses_with_the_value_and_the_rule(text: str, rule: str) -> None:
    with pytest.raises(InvalidInput, match=rule):
        uri.parse(text)


@pytest.mark.parametrize("text", ["flights/main", "graveler://"])
def test_refusal_names_the_uri(text: str) -> None:
    with pytest.raises(InvalidInput, match="URI ") as caught:
        uri.parse(text)
    assert caught.value.kind is Kind.InvalidUrl
    assert repr(text) in caught.value.message


def test_each_narrower_form_refuses_what_it_does_not_name() -> None:
    with pytest.raises(InvalidInput, match="only a repository"):
        uri.repository_uri("graveler://flights/main")
    with pytest.raises(InvalidInput, match="without a path"):
        uri.ref_uri("graveler://flights/main/a")
    with pytest.raises(InvalidInput, match="must name a ref"):
        uri.ref_uri("graveler://flights")
    with pytest.raises(InvalidInput, match="must name a path"):
        uri.object_uri("graveler://flights/main/")
    with pytest.raises(InvalidInput, match="one ref"):
        uri.prefix_uri("graveler://flights/main..dev")


def test_a_ref_of_a_known_repository_may_stand_alone() -> None:
    assert uri.ref_in("flights", "main~1") == "main~1"
    assert uri.ref_in("flights", "graveler://flights/main~1") == "main~1"


@pytest.mark.parametrize("text", ["", "flights/main", "graveler://weather/main", "graveler://flights/main/a"])
def test_a_ref_of_a_known_repository_is_of_that_repository(text: str) -> None:
    with pytest.raises(InvalidInput, match="URI "):
        uri.ref_in("flights", text)


def test_a_difference_has_two_sides() -> None:
    sides = (Uri("flights", "main", "a/"), Uri("flights", "dev~1", "a/"))
    assert uri.ref_range("graveler://flights/main..dev~1/a/", None) == RefRange(*sides)
    assert uri.ref_range("graveler://flights/main/a/", "graveler://flights/dev~1/a/") == RefRange(*sides)
    since = RefRange(*sides, since_merge_base=True)
    assert uri.ref_range("graveler://flights/main...dev~1/a/", None) == since


@pytest.mark.parametrize(
    ("left", "right", "rule"),
    [
        ("graveler://flights/main", None, "two refs"),
        ("graveler://flights", None, "two refs"),
        ("graveler://flights/main..", None, "two refs"),
        ("graveler://flights/..dev", None, "two refs"),
        ("graveler://flights/main....dev", None, "two refs"),
        ("graveler://flights/main...", None, "two refs"),
        ("graveler://flights/...dev", None, "two refs"),
        ("graveler://flights/main...dev..v1", None, "two refs"),
        ("graveler://flights/main..dev...v1", None, "two refs"),
        ("graveler://flights/main...dev", "graveler://flights/v1", "one ref"),
        ("graveler://flights/main..dev..v1", None, "two refs"),
        ("graveler://flights/main", "graveler://weather/main", "same repository"),
        ("graveler://flights/main/a", "graveler://flights/dev", "same prefix"),
        ("graveler://flights/main..dev", "graveler://flights/dev", "one ref"),
        (
            "graveler://flights/main..dev",
            "graveler://flights/raw",
            "one ref before another URI; a prefix follows two refs",
        ),
    ],
)
def test_a_difference_refuses_anything_else(left: str, right: str | None, rule: str) -> None:
    with pytest.raises(InvalidInput, match=rule):
        uri.ref_range(left, right)


def test_an_empty_place_is_not_the_working_directory() -> None:
    with pytest.raises(InvalidInput, match="URI '': must be a URI or a path"):
        uri.storage_uri("")
    assert uri.storage_uri("s3://bucket/raw") == "s3://bucket/raw"
