"""No input crashes a decoder: it returns a value or raises an error of graveler, and its memory is bounded.

Inputs that once were findings are in `corpus/<decoder>/`, as hex digits, and run every time.
`python -m tests.proofs.fuzzing.run` tries any number of inputs, and adds what it finds.
"""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graveler_core.errors import GravelerError
from tests.examples import examples
from tests.proofs.fuzzing.decoders import DECODERS, outcome
from tests.proofs.fuzzing.inputs import inputs

CORPUS = Path(__file__).with_name("corpus")
SLOW_EXAMPLES = 20_000
FACTOR = 10
"""Memory of a decoder for each byte of its input."""
ALWAYS_BYTES = 4 << 20
"""Memory that a decoder may use for any input."""


@pytest.mark.parametrize("name", DECODERS)
def test_every_sample_is_accepted(name: str) -> None:
    decoder = DECODERS[name]
    accepted = [sample for sample in decoder.samples if not isinstance(outcome(decoder, sample), GravelerError)]
    assert accepted


@pytest.mark.parametrize("name", DECODERS)
@settings(max_examples=examples(100))
@given(data=st.data())
def test_no_input_is_a_crash(name: str, data: st.DataObject) -> None:
    decoder = DECODERS[name]
    outcome(decoder, data.draw(inputs(decoder.samples)))


@pytest.mark.slow
@pytest.mark.parametrize("name", DECODERS)
@settings(max_examples=SLOW_EXAMPLES)
@given(data=st.data())
def test_none_of_many_inputs_is_a_crash(name: str, data: st.DataObject) -> None:
    decoder = DECODERS[name]
    outcome(decoder, data.draw(inputs(decoder.samples)))


@pytest.mark.parametrize("name", DECODERS)
@settings(max_examples=examples(20))
@given(data=st.data())
def test_memory_is_bounded_by_the_input(name: str, data: st.DataObject) -> None:
    decoder = DECODERS[name]
    given_bytes = data.draw(inputs(decoder.samples))
    outcome(decoder, given_bytes)  # what is imported or cached once does not count
    tracemalloc.start()
    try:
        outcome(decoder, given_bytes)
        assert tracemalloc.get_traced_memory()[1] <= ALWAYS_BYTES + FACTOR * len(given_bytes)
    finally:
        tracemalloc.stop()


def test_the_corpus_names_decoders() -> None:
    assert {folder.name for folder in CORPUS.iterdir() if folder.is_dir()} <= DECODERS.keys()


@pytest.mark.parametrize("file", sorted(CORPUS.glob("*/*")), ids=lambda file: f"{file.parent.name}-{file.name[:8]}")
def test_a_former_finding_stays_mended(file: Path) -> None:
    outcome(DECODERS[file.parent.name], bytes.fromhex(file.read_text()))
