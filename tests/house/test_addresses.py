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
    return {str(path): text for path, text in project.texts().items() if path.name != "test_addresses.py"}


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


LIBRARY = {
    "bigtable",
    "cassandra",
    "cli",
    "dynamodb",
    "etcd",
    "iam",
    "metrics",
    "migration",
    "mongodb",
    "otel",
    "postgres",
}


@pytest.mark.parametrize(("name", "group"), [("requirements.lock", "dev"), ("requirements-lowest.lock", "test")])
def test_a_lock_pins_everything_by_hash_and_by_nothing_else(project: Project, name: str, group: str) -> None:
    """Names, versions, markers and hashes, no option or path; and all that pyproject.toml declares."""
    lock = (project.root / name).read_text("utf-8")
    pins = re.findall(
        r"^([a-z0-9-]+)==[\w.]+(?: ; [^\\\n]+)?((?: \\\n    --hash=sha256:[0-9a-f]{64})+)$", lock, re.MULTILINE
    )
    assert len(pins) == len(re.findall(r"^\S", lock, re.MULTILINE))
    assert lock.count("\n") == len(pins) + sum(hashes.count("\n") for _, hashes in pins)

    declared = tomllib.loads((project.root / "pyproject.toml").read_text("utf-8"))
    extras = declared["project"]["optional-dependencies"]
    wanted = [
        *(declared["build-system"]["requires"] if group == "dev" else ()),
        *declared["project"]["dependencies"],
        *(each for extra, names in extras.items() if group == "dev" or extra in LIBRARY for each in names),
        *in_group(declared["dependency-groups"], group),
    ]
    assert {re.split(r"[\[<>=! ]", each)[0].lower() for each in wanted} - {"graveler"} <= {each for each, _ in pins}


def in_group(groups: dict[str, list[str | dict[str, str]]], name: str) -> list[str]:
    """The requirements of a dependency group, and of those that it includes."""
    found: list[str] = []
    for each in groups[name]:
        found += [each] if isinstance(each, str) else in_group(groups, each["include-group"])
    return found
