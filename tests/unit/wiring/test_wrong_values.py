"""Wrong values for each argument of each public function: the errors are those of the library, as for methods.

`tests/unit/guard/test_wrong_values.py` does the same for the methods of handles.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import graveler
from graveler_core.errors import GravelerError, InvalidInput
from graveler_core.wiring.wrong_values import explained

WRONG = (None, -1, 2**70, b"\xff", "\0", "\ud800", [None], object())
SAMPLES: dict[str, dict[str, Any]] = {
    "connect": {"url": "memory://", "cache_dir": "cache", "cache_bytes": 10**9},
    "copy_store": {"source": "sqlite:///kept.db", "target": "memory://", "dry_run": True},
    "finish_copy": {"target": "memory://"},
    "compare_stores": {"source": "sqlite:///kept.db", "target": "sqlite:///kept.db"},
    "sweep_tombstones": {"url": "memory://"},
    "operations_of": {"changes": []},
    "ssh_signature": {"key": "absent", "name": "v1", "commit": "c"},
    "SecretsKeys": {"keys": "k"},
    "SshVerifier": {"allowed_signers": "absent"},
    "Credentials": {"access_key_id": "a", "secret_access_key": "b"},
    "Hook": {"name": "h", "run": print, "events": ("pre-commit",)},
    "Entry": {"address": "a"},
}
CASES = [(name, parameter) for name in SAMPLES for parameter in inspect.signature(getattr(graveler, name)).parameters]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a store in the file `kept.db`."""
    directory = tmp_path_factory.mktemp("kept")
    with graveler.connect(f"sqlite:///{directory}/kept.db?durability=process") as opened:
        opened.create_repository("lake", (directory / "lake").as_uri())
    return directory


@pytest.fixture(autouse=True)
def _there(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(kept)


def test_every_public_function_has_a_sample() -> None:
    functions = {name for name in graveler.__all__ if inspect.isfunction(getattr(graveler, name))}
    assert functions <= SAMPLES.keys()


@pytest.mark.parametrize(("name", "parameter"), CASES)
def test_wrong_values_raise_errors_of_the_library(name: str, parameter: str) -> None:
    for wrong in WRONG:
        try:
            result = getattr(graveler, name)(**SAMPLES[name] | {parameter: wrong})
            if name == "connect":
                result.close()
            if name == "operations_of":
                list(result)
        except GravelerError:
            continue
        except Exception as error:
            raise AssertionError(f"{parameter}={wrong!r}: {error!r}") from error


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"cache_dir": 5}, r"^connect: cache_dir 5 must be of type str \| PathLike"),
        ({"memory_cache_bytes": "1"}, r"^connect: memory_cache_bytes '1' must be of type int"),
        ({"hooks": print}, r"^connect: hooks <built-in function print> must be a sequence of graveler.Hook$"),
        ({"hooks": [print]}, "must be a sequence of graveler.Hook$"),
        ({"verify_tag": 5}, "^connect: verify_tag 5 must be a function$"),
        ({"metrics": 5}, "^metrics 5: must be a prometheus_client.CollectorRegistry$"),
    ],
)
def test_the_error_names_the_argument(values: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        graveler.connect("memory://", **values)


@pytest.mark.parametrize("scheme", ["sqlite:///", "mysql://u:", "postgresql://u:", "redis://u:"])
def test_a_lone_surrogate_in_a_url_is_refused_without_its_text(scheme: str) -> None:
    url = f"{scheme}geheim\udcff@host/db"
    for call in (graveler.connect, graveler.sweep_tombstones, lambda given: graveler.copy_store("memory://", given)):
        with pytest.raises(InvalidInput, match="has no valid character at position") as refused:
            call(url)
        assert "geheim" not in str(refused.value)


def test_an_error_of_the_library_itself_stays() -> None:
    @explained
    def fail(number: int) -> object:
        return number + "text"  # type: ignore[operator]

    with pytest.raises(TypeError, match="unsupported operand"):
        fail(1)
    with pytest.raises(InvalidInput, match=r"^fail: number None must be of type int$"):
        fail(None)  # type: ignore[arg-type]
    call: Callable[..., object] = fail
    with pytest.raises(TypeError, match=r"fail\(\) missing 1 required"):
        call()
