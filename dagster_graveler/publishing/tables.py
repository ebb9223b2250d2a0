"""Tables of a group, as they are declared: their paths, their blocking checks, and the rules for them."""

from collections.abc import Iterable, Sequence

import dagster as dg

from dagster_graveler.publishing.groups import GroupTable

PATH = "graveler/path"
"""Definition metadata of a table: its path in the repository, if that is not the asset key joined by slashes."""
_NAME_LENGTH = 255


def checked_tables(
    tables: Sequence[dg.AssetsDefinition], checks: Sequence[dg.AssetChecksDefinition], key: dg.AssetKey
) -> tuple[GroupTable, ...]:
    """Return the tables of a group with their blocking checks.

    Args:
        tables: The assets.
        checks: Their checks.
        key: Key of the published branch.

    Raises:
        DagsterInvalidDefinitionError: There is no table, a check belongs to no table of the group, or the path of a
            table lies in that of another one.
    """
    if not tables:
        raise dg.DagsterInvalidDefinitionError(f"{key.to_user_string()}: tables must not be empty")
    specs = [spec for table in tables for spec in table.specs]
    found = [spec for each in (*tables, *checks) for spec in each.check_specs]
    blocking: dict[dg.AssetKey, list[dg.AssetCheckSpec]] = {spec.key: [] for spec in specs}
    for check in found:
        if check.asset_key not in blocking:
            raise dg.DagsterInvalidDefinitionError(
                f"check {check.name} of {check.asset_key.to_user_string()}: this asset is none of the tables of "
                f"{key.to_user_string()}"
            )
        if check.blocking:
            blocking[check.asset_key].append(check)
    made = tuple(
        GroupTable(
            spec.key,
            str(spec.metadata.get(PATH, "/".join(spec.key.path))).strip("/"),
            tuple(check.name for check in blocking[spec.key]),
            frozenset(check.name for check in blocking[spec.key] if check.partitions_def is not None),
        )
        for spec in specs
    )
    _refuse_nested(made, key)
    return made


def refuse_equal_names(keys: Iterable[dg.AssetKey], key: dg.AssetKey) -> None:
    """Refuse keys from which Dagster would make one name of ops, inputs or sensors.

    Args:
        keys: Keys of tables, or of published branches.
        key: Key of the publication, for the message.

    Raises:
        DagsterInvalidDefinitionError: Two keys have one name, such as `daily-orders` and `daily_orders`.
    """
    known: dict[str, dg.AssetKey] = {}
    for each in keys:
        other = known.setdefault(each.to_python_identifier(), each)
        if other != each:
            raise dg.DagsterInvalidDefinitionError(
                f"{key.to_user_string()}: the keys {other.to_user_string()!r} and {each.to_user_string()!r} become the "
                f"same name {each.to_python_identifier()!r} in Dagster; rename one of them"
            )


def refuse_differences(tables: Sequence[dg.AssetsDefinition], key: dg.AssetKey) -> None:
    """Refuse tables that one run cannot cover.

    Args:
        tables: The tables of a publication.
        key: Key of the publication, for the message.

    Raises:
        DagsterInvalidDefinitionError: The tables have different partitions or backfill policies.
    """
    if not tables:
        return
    first = tables[0]
    for table in tables[1:]:
        pairs = {
            "partitions definitions": (first.partitions_def, table.partitions_def),
            "backfill policies": (first.backfill_policy, table.backfill_policy),
        }
        for what, (one, other) in pairs.items():
            if one != other:
                names = [each.to_user_string() for each in (*first.keys, *table.keys)]
                raise dg.DagsterInvalidDefinitionError(
                    f"{key.to_user_string()}: its tables must have equal {what}, so that one run covers all of them; "
                    f"different ones: {names[0]} has {one}, {names[-1]} has {other}"
                )


def _refuse_nested(tables: Iterable[GroupTable], key: dg.AssetKey) -> None:
    before: GroupTable | None = None
    for table in sorted(tables, key=lambda each: f"{each.path}/"):
        if before is not None and f"{table.path}/".startswith(f"{before.path}/"):
            raise dg.DagsterInvalidDefinitionError(
                f"{key.to_user_string()}: table {table.name} at path {table.path!r} lies in table {before.name} at "
                f"path {before.path!r}"
            )
        before = table
        for check in table.checks:
            if len(table.check_name(check)) > _NAME_LENGTH:
                raise dg.DagsterInvalidDefinitionError(
                    f"check name {table.check_name(check)!r}: must have at most {_NAME_LENGTH} characters"
                )
