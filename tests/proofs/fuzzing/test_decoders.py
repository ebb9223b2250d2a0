"""No input crashes a decoder: it returns a value or raises an error of graveler, and its memory is bounded.

Inputs that once were findings are in `corpus/<decoder>/`, as hex digits, and run every time.
`python -m tests.proofs.fuzzing.run` tries any number of inputs, and adds what it finds.
"""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graveler_core.errors import GravelerError, InvalidInput
from tests.examples import examples
from tests.proofs.fuzzing.decoders import DECODERS, Decoder, outcome
from tests.proofs.fuzzing.guidance import SEEDS, Guide, guided, saved
from tests.proofs.fuzzing.inputs import inputs, mutate

CORPUS = Path(__file__).with_name("corpus")
SLOW_EXAMPLES = 1_000
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
    outcome(decoder, data.draw(inputs([*decoder.samples, *saved(name)])))


@pytest.mark.slow
@pytest.mark.parametrize("name", DECODERS)
@settings(max_examples=SLOW_EXAMPLES)
@given(data=st.data())
def test_none_of_many_inputs_is_a_crash(name: str, data: st.DataObject) -> None:
    decoder = DECODERS[name]
    outcome(decoder, data.draw(inputs([*decoder.samples, *saved(name)])))


@pytest.mark.parametrize("name", DECODERS)
@settings(max_examples=examples(20))
@given(data=st.data())
def test_memory_is_bounded_by_the_input(name: str, data: st.DataObject) -> None:
    decoder = DECODERS[name]
    given_bytes = data.draw(inputs([*decoder.samples, *saved(name)]))
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


@pytest.mark.parametrize("name", sorted(DECODERS))
def test_saved_inputs_are_no_crash(name: str) -> None:
    for data in saved(name):
        outcome(DECODERS[name], data)


def test_saved_inputs_belong_to_decoders() -> None:
    assert {file.stem for file in SEEDS.iterdir()} <= DECODERS.keys()


def test_inputs_that_reach_new_places_are_kept() -> None:
    """The guide goes from one letter of a word to the next, which chance alone would not find."""

    def spell(data: bytes) -> object:
        if data[:1] == b"\x80":
            if data[1:2] == b"\x7f":
                if data[2:3] == b"\xff":
                    raise ZeroDivisionError
                raise InvalidInput("third")
            raise InvalidInput("second")
        raise InvalidInput("first")

    guide = guided("spelling", Decoder(spell, (b"abc",)))
    with pytest.raises(ZeroDivisionError):
        _fuzz(guide, 20_000)
    assert len(guide.refusals) == 3


def _fuzz(guide: Guide, inputs: int) -> None:
    random = Random(1)
    for _ in range(inputs):
        data = mutate(random, guide.choose(random))
        guide.note(data, outcome(guide.decoder, data))
