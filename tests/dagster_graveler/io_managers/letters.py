"""The asset `area/letters`, an asset that loads it, and a look at what is stored."""

from __future__ import annotations

from typing import Any

import dagster as dg

from dagster_graveler.testing import EphemeralLake

DEV = {"graveler/branch": "dev"}
Seen = list[Any]


def stored(value: Any, **options: Any) -> dg.AssetsDefinition:
    """An asset `area/letters` with a value."""

    @dg.asset(key=["area", "letters"], **options)
    def made() -> Any:
        return value() if callable(value) else value

    return made


def loaded(seen: Seen, type_: Any, metadata: dict[str, Any] | None = None, **options: Any) -> dg.AssetsDefinition:
    """An asset that notes how it loads `area/letters`."""

    def body(letters: Any) -> None:
        seen.append(letters)

    body.__annotations__["letters"] = type_
    return dg.asset(name="down", ins={"letters": dg.AssetIn(["area", "letters"], metadata=metadata)}, **options)(body)


def paths(lake: EphemeralLake, ref: str = "dev") -> list[str]:
    return [entry.path for entry in lake.repository.at(ref).list()]


def metadata_of(result: dg.ExecuteInProcessResult) -> dict[str, Any]:
    (materialization,) = result.asset_materializations_for_node("area__letters")
    return {key: value.value for key, value in materialization.metadata.items()}
