"""The project is bound to no machine and no network: it names no registry's host and no absolute path of a disk."""

from __future__ import annotations

import re
import tomllib

import pytest

from tests.house.project import Project

REGISTRY = re.compile(
    r"\b(?:pypi|pythonhosted|npmjs|conda-forge|anaconda|crates|rubygems|repo1?\.maven(?:\.apache)?|maven-central)\.(?:org|com|io)\b"
    r"|\bdocker\.io\b|/simple/?(?=[\s\"']|$)|(?:--|_)(?:extra-)?index[-_]url[ =]+['\"]?http|--find-links",
    re.IGNORECASE,
)
MACHINE = re.compile(r"(?<![\w.*/{}$~-])/(?:home|root|work|Users|mnt|opt|srv)/\w|(?<![\w.])[A-Z]:\\\\?Users")


def offences(text: str, pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{number}: {line.strip()[:120]}" for number, line in enumerate(text.splitlines(), 1) if pattern.search(line)
    ]


def texts(project: Project) -> dict[str, str]:
    """Every file of the project that is text, but this one, which has to name what it looks for."""
    contents = {path: (project.root / path).read_bytes() for path in project.files}
    return {
        str(path): content.decode("utf-8")
        for path, content in contents.items()
        if b"\0" not in content and path.name != "test_addresses.py"
    }


@pytest.mark.parametrize("pattern", [REGISTRY, MACHINE], ids=["registry", "machine"])
def test_no_file_names_one(project: Project, pattern: re.Pattern[str]) -> None:
    found = {name: offences(text, pattern) for name, text in texts(project).items()}
    assert not {name: lines for name, lines in found.items() if lines}


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (REGISTRY, "https://pypi.org/simple"),
        (REGISTRY, "see files.pythonhosted.org/packages/ab"),
        (REGISTRY, "--index-url https://mirror.example/x"),
        (REGISTRY, "UV_INDEX_URL=http://mirror.example"),
        (REGISTRY, "--find-links wheels"),
        (MACHINE, "open('/home/ann/data')"),
        (MACHINE, "path = /root/graveler"),
        (MACHINE, "file:/work/x"),
        (MACHINE, r"C:\Users\ann"),
    ],
)
def test_a_planted_one_is_found(pattern: re.Pattern[str], text: str) -> None:
    assert offences(f"first\n{text}\nlast", pattern) == [f"2: {text}"]


@pytest.mark.parametrize(
    "text", ["graveler://flights/main/home/x", "a/root/b", "file:///…/flights", "~/work/x", "$root/.venv"]
)
def test_paths_of_users_data_are_no_machine_paths(text: str) -> None:
    assert not offences(text, MACHINE)


def test_the_lock_pins_everything_by_hash_and_by_nothing_else(project: Project) -> None:
    """Names, versions, markers and hashes, no option or path; and all that pyproject.toml declares."""
    lock = (project.root / "requirements.lock").read_text("utf-8")
    pins = re.findall(
        r"^([a-z0-9-]+)==[\w.]+(?: ; [^\\\n]+)?((?: \\\n    --hash=sha256:[0-9a-f]{64})+)$", lock, re.MULTILINE
    )
    assert len(pins) == len(re.findall(r"^\S", lock, re.MULTILINE))
    assert lock.count("\n") == len(pins) + sum(hashes.count("\n") for _, hashes in pins)

    declared = tomllib.loads((project.root / "pyproject.toml").read_text("utf-8"))
    wanted = [
        *declared["build-system"]["requires"],
        *declared["project"]["dependencies"],
        *(name for names in declared["project"]["optional-dependencies"].values() for name in names),
        *declared["dependency-groups"]["dev"],
    ]
    assert {re.split(r"[\[<>=! ]", name)[0].lower() for name in wanted} <= {name for name, _ in pins}
