"""`GravelerLakeComponent`: a repository in `defs.yaml`, with tables, checks, publication and maintenance."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import cache
from typing import Any, Literal

import dagster as dg
from pydantic import Field

from dagster_graveler.beta import beta_accepted
from dagster_graveler.components.checks import LakeCheck
from dagster_graveler.components.functions import LakeFunction, called, code_references
from dagster_graveler.components.maintenance import LakeMaintenance, maintenance
from dagster_graveler.components.partitions import LakePartitions
from dagster_graveler.components.scaffolder import LakeScaffolder
from dagster_graveler.io_managers.graveler import GravelerIOManager
from dagster_graveler.publishing.tables import PATH
from dagster_graveler.publishing.write_audit_publish import write_audit_publish
from dagster_graveler.resources.graveler import GravelerResource
from dagster_graveler.resources.graveler_branch import GravelerBranch

_EXECUTORS = {"in_process": dg.in_process_executor, "multiprocess": dg.multiprocess_executor}


class LakeTable(dg.Resolvable, dg.Model):
    """A table: an asset, the function that computes it, and its checks."""

    asset: dg.ResolvedAssetSpec = Field(description="Key and other attributes of the asset.")
    function: LakeFunction = Field(
        description="Function that returns the table. Its parameters are `inputs`, resources, config and `context`, as "
        "in an asset."
    )
    inputs: Mapping[str, str] = Field(
        default_factory=dict, description="Asset keys by names of parameters. Default: the key is the name."
    )
    checks: Sequence[LakeCheck] = ()


class LakePublication(dg.Resolvable, dg.Model):
    """Options of the publication."""

    asset: dg.ResolvedAssetKey | None = Field(
        default=None, description="Key of the published branch. Default: repository/branch."
    )
    mode: Literal["group", "asset"] = Field(
        default="group",
        description="group: publish when all tables have been written. asset: also publish single tables.",
    )
    warn: Literal["refuse", "allow"] = Field(
        default="refuse", description="What a blocking check that fails with severity WARN does."
    )
    require: bool = Field(
        default=False, description="Require the blocking checks of everything that is merged, by any program."
    )
    keep_days: int = Field(default=30, ge=1, description="Days for which a branch that was not published is kept.")


@dg.scaffold_with(LakeScaffolder)
class GravelerLakeComponent(dg.Component, dg.Resolvable, dg.Model):
    """Tables in a repository of graveler, which are written on a branch, checked, and published."""

    store_env: str = Field(
        description="Name of the environment variable with the URL of the key-value store. The URL may contain a "
        "password, so it does not stand in defs.yaml."
    )
    storage_root: str = Field(description="URI below which a new repository stores its objects.")
    repository: str = Field(description="Name of the repository. It is created at first use.")
    into: str = Field(default="main", description="Branch into which the tables are published.")
    branch: str = Field(
        default="run-{run}",
        description="Template for the branch of a run, with {run}, {partition}, {backfill} or {deployment}.",
    )
    partitions: LakePartitions | None = Field(default=None, description="Partitions of all tables.")
    tables: Sequence[LakeTable] = Field(description="Tables of the repository, which are published together.")
    publish: LakePublication = Field(default_factory=LakePublication)
    executor: Literal["in_process", "multiprocess"] | None = Field(
        default=None,
        description="Executor of the job that writes, checks and publishes the tables: in_process runs all steps in "
        "one process, multiprocess runs each in a process of its own. Default: the executor of the project.",
    )
    maintenance: LakeMaintenance | bool = Field(
        default=True,
        description="Compact branches, clean up, sweep, measure, and report commits that no run made. Set it to true, "
        "false, or to options. Only one component of a store may maintain the store.",
    )

    @classmethod
    def get_spec(cls) -> dg.ComponentTypeSpec:
        """Return the description of the component for `dg`."""
        produces: list[Literal["asset", "asset_check", "schedule", "sensor", "job", "resource"]]
        produces = ["asset", "asset_check", "schedule", "sensor", "job", "resource"]
        return dg.ComponentTypeSpec(tags=["graveler", "lake"], produces=produces)

    def get_asset_spec(self, table: LakeTable) -> dg.AssetSpec:
        """Return the asset of a table. Subclasses override this to change names, groups, owners and so on.

        Args:
            table: A table of `defs.yaml`.
        """
        spec = table.asset
        partitions = None if self.partitions is None else self.partitions.definition()
        return spec.replace_attributes(group_name=spec.group_name or self._slug, partitions_def=partitions)

    def execute(self, table: LakeTable, *args: Any, **kwargs: Any) -> Any:
        """Return the value of a table. Subclasses override this to do something before or after.

        Args:
            table: A table of `defs.yaml`.
            args: The context, if the function has a parameter `context`.
            kwargs: The other parameters of the function.
        """
        return table.function(*args, **kwargs)

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """Return the definitions of the lake.

        Args:
            context: Context in which the component is loaded.
        """
        graveler = _connection(self.store_env)
        branch = GravelerBranch(
            graveler=graveler,
            repository=self.repository,
            storage_root=self.storage_root,
            into=self.into,
            branch=self.branch,
        )
        published = self.publish.asset or dg.AssetKey([self.repository, self.into])
        tables, checks = [], []
        for table in self.tables:
            spec = self.get_asset_spec(table)
            path = str(spec.metadata.get(PATH, "/".join(spec.key.path))).strip("/")
            tables.append(self._asset(table, spec))
            checks += [check.definition(spec.key, path, self._io_manager_key) for check in table.checks]
        publication = write_audit_publish(
            tables=tables,
            checks=checks,
            key=published,
            branch=self._branch_key,
            publish=self.publish.mode,
            warn=self.publish.warn,
            require=self.publish.require,
            keep_for=timedelta(days=self.publish.keep_days),
            executor_def=None if self.executor is None else _EXECUTORS[self.executor],
        )
        resources = {
            "graveler": graveler,
            self._branch_key: branch,
            self._io_manager_key: GravelerIOManager(branch=branch),
        }
        found = [publication, dg.Definitions(resources=resources)]
        if self.maintenance:
            options = self.maintenance if isinstance(self.maintenance, LakeMaintenance) else LakeMaintenance()
            found.append(maintenance(graveler, self.repository, {self.into: published}, options))
        return dg.Definitions.merge(*found)

    @property
    def _slug(self) -> str:
        return self.repository.replace("-", "_")

    @property
    def _branch_key(self) -> str:
        return f"{self._slug}_branch"

    @property
    def _io_manager_key(self) -> str:
        return f"{self._slug}_io_manager"

    def _asset(self, table: LakeTable, spec: dg.AssetSpec) -> dg.AssetsDefinition:
        def call(*args: Any, **kwargs: Any) -> Any:
            return self.execute(table, *args, **kwargs)

        with beta_accepted():
            return dg.asset(
                key=spec.key,
                ins={name: dg.AssetIn(key=dg.AssetKey.from_user_string(key)) for name, key in table.inputs.items()},
                deps=list(spec.deps),
                metadata={**code_references(table.function), **spec.metadata},
                tags=spec.tags,
                description=spec.description or (table.function.__doc__ or "").strip() or None,
                group_name=spec.group_name,
                owners=spec.owners,
                code_version=spec.code_version,
                automation_condition=spec.automation_condition,
                freshness_policy=spec.freshness_policy,
                partitions_def=spec.partitions_def,
                backfill_policy=None if spec.partitions_def is None else dg.BackfillPolicy.single_run(),
                io_manager_key=self._io_manager_key,
            )(called(table.function, call))


@cache
def _connection(store_env: str) -> GravelerResource:
    """Return the resource of a store. Components that use one store share it."""
    return GravelerResource(url=dg.EnvVar(store_env))
