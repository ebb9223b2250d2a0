"""A suite is passed whole: whatever would weaken it raises when the class is made or changed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from graveler_core.testing.sealed import Sealed

# Applied by hand: what is being tested is that nobody can apply them.
EXCUSES = [getattr(pytest.mark, name) for name in ("skip", "xfail")]


class Suite(metaclass=Sealed):
    def test_promise(self) -> None:
        raise AssertionError


def test_a_subclass_may_add_tests_fixtures_and_other_marks() -> None:
    class Mine(Suite):
        pytestmark = pytest.mark.slow

        def test_more(self) -> None: ...

        def opener(self) -> None: ...

    assert Mine.test_promise is Suite.test_promise


def test_a_test_cannot_be_overridden() -> None:
    with pytest.raises(TypeError, match="test_promise"):
        Sealed("Mine", (Suite,), {"test_promise": None})


def test_a_mixin_cannot_override_a_test() -> None:
    class Mixin:
        def test_promise(self) -> None: ...

    with pytest.raises(TypeError, match="Mixin overrides test_promise of Suite"):
        Sealed("Mine", (Mixin, Suite), {})


@pytest.mark.parametrize("excuse", EXCUSES)
def test_a_class_cannot_be_excused(excuse: pytest.MarkDecorator) -> None:
    class Mine(Suite): ...

    with pytest.raises(TypeError, match=excuse.name):
        excuse(Mine)
    with pytest.raises(TypeError, match=excuse.name):
        Sealed("Mine", (Suite,), {"pytestmark": [excuse]})


def test_a_module_cannot_be_excused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "pytestmark", EXCUSES[0])
    with pytest.raises(TypeError, match="skip"):
        Sealed("Mine", (Suite,), {"__module__": __name__})


@pytest.mark.parametrize(
    "weaken",
    [
        lambda suite: setattr(suite, "test_promise", None),
        lambda suite: delattr(suite, "test_promise"),
        lambda suite: setattr(suite, "__test__", False),
        lambda suite: Sealed("Mine", (suite,), {"__test__": False}),
    ],
)
def test_a_test_cannot_be_taken_out(weaken: Callable[[type], object]) -> None:
    with pytest.raises(TypeError):
        weaken(Suite)
    assert callable(Suite.test_promise)
    assert getattr(Suite, "__test__", True)
