"""A sensor that tells Dagster when a published branch moved, whoever moved it.

Runs of the pipeline report their own merges; a commit from the command line or another program is reported here, so
that the branch's asset keeps the commit id at its head as data version, and what depends on it is seen stale.
"""

import json
from typing import Any

import dagster as dg

from sensors.data_version import DATA_VERSION_TAG, reported_commit

_CURSOR_VERSION = 1


def make_published_branch_sensor(
    asset_key: dg.AssetKey,
    *,
    repository: str,
    branch: str,
    resource_key: str = "graveler",
    interval_seconds: int = 30,
) -> dg.SensorDefinition:
    """A sensor for one branch.

    A tick reads the branch's head, one record; a branch that does not exist yet is skipped.

    Args:
        asset_key: The asset that stands for the branch.
        repository: The repository's name.
        branch: The branch's name.
        resource_key: The resource with a method `graveler()`.
        interval_seconds: Least time between two ticks.
    """
    name = f"{repository}_{branch}_moved".replace("-", "_").replace(".", "_")

    @dg.sensor(
        name=name,
        minimum_interval_seconds=interval_seconds,
        required_resource_keys={resource_key},
        default_status=dg.DefaultSensorStatus.RUNNING,
        description=f"Reports commits on {repository}/{branch} that no run of the pipeline made.",
    )
    def moved(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        from graveler_core.errors import NotFound

        graveler = getattr(context.resources, resource_key).graveler()
        try:
            head = next(iter(graveler.repository(repository).log(branch, limit=1)))
        except NotFound as e:
            return dg.SkipReason(str(e))
        commit_id = str(head.id)
        if commit_id in (_seen(context.cursor), reported_commit(context.instance, asset_key)):
            return dg.SensorResult(cursor=_cursor(commit_id), skip_reason=f"{branch} is at {commit_id[:12]}, as known")
        event = _materialization(asset_key, f"graveler://{repository}/{branch}", head)
        return dg.SensorResult(asset_events=[event], cursor=_cursor(commit_id))

    return moved


def _materialization(asset_key: dg.AssetKey, uri: str, head: Any) -> dg.AssetMaterialization:
    """The event for a head: an entry of a log."""
    return dg.AssetMaterialization(
        asset_key,
        description=head.message,
        metadata={"commit": str(head.id), "committer": head.committer, "dagster/uri": uri},
        tags={DATA_VERSION_TAG: str(head.id)},
    )


def _cursor(commit_id: str) -> str:
    return json.dumps({"version": _CURSOR_VERSION, "commit": commit_id})


def _seen(cursor: str | None) -> str | None:
    """The commit of a cursor; None for none, or for one that another version of this sensor left."""
    try:
        value = json.loads(cursor or "null")
    except json.JSONDecodeError:
        return None
    known = isinstance(value, dict) and value.get("version") == _CURSOR_VERSION
    return value.get("commit") if known else None
