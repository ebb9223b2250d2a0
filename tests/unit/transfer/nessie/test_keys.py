"""Keys of Nessie as paths: every key has one, no two keys have the same, and the key is found again."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from graveler_core.model.names import MAX_PATH_BYTES, new_path_key
from graveler_core.transfer.broken_values import BrokenValueError
from graveler_core.transfer.nessie.keys import elements_of, parsed_key, path_of, stored_key

ELEMENTS = st.text(
    st.one_of(st.sampled_from("%/\\.2E5F\x7f\x85"), st.characters(min_codepoint=2, exclude_categories=["Cs"])),
    min_size=1,
    max_size=9,
)
KEYS = st.lists(ELEMENTS, min_size=1, max_size=4)


@given(KEYS)
@example([".", "..", "...", "%2E", "a/b", "a%2Fb", "\x02"])
def test_a_key_is_found_again(elements: list[str]) -> None:
    path = path_of(elements)
    assert elements_of(path) == elements
    assert path.count("/") == len(elements) - 1
    assert len(path.encode()) > MAX_PATH_BYTES or new_path_key(path) == path.encode()
    assert parsed_key(stored_key(elements)) == elements


@pytest.mark.parametrize("elements", [[], [""], ["a", ""]])
def test_empty_elements_are_refused(elements: list[str]) -> None:
    with pytest.raises(BrokenValueError, match="none may be empty"):
        path_of(elements)


@pytest.mark.parametrize("text", ["", "a", "M\0a", "M\0a\0D", "X\0a\0C", "M\0a\0C\0"])
def test_other_keys_are_refused(text: str) -> None:
    with pytest.raises(BrokenValueError, match="not that of a content"):
        parsed_key(text)
