"""One small table and its publish asset, as a job that other processes can find."""

import dagster as dg

from dagster_graveler.publishing.write_audit_publish import write_audit_publish
from dagster_graveler.publishing.written import written
from dagster_graveler.resources.graveler import GravelerResource
from dagster_graveler.resources.graveler_branch import GravelerBranch

BRANCH = "dev"
CONTENT = {"one": b"1"}
"""Files of the table, by name."""


class FilesIOManager(dg.ConfigurableIOManager):
    """Stores a dictionary of files."""

    branch: dg.ResourceDependency[GravelerBranch]

    def handle_output(self, context: dg.OutputContext, obj: dict[str, bytes]) -> None:
        """Replace the files of the table."""
        table, branch = "/".join(context.asset_key.path), self.branch.open_for_writing()
        branch.remove_prefix(f"{table}/")
        for name, data in obj.items():
            branch.put(f"{table}/{name}", data)
        context.add_output_metadata(written(self.branch.open_after_write(), table, [f"{table}/"]))

    def load_input(self, context: dg.InputContext) -> None:
        """Nothing reads the table."""
        raise NotImplementedError


def publish_only() -> dg.JobDefinition:
    """Writes and publishes the table on the branch that the run tag names."""
    graveler = GravelerResource(url=dg.EnvVar("GRAVELER_STORE"))
    branch = GravelerBranch(graveler=graveler, repository="flights", storage_root=dg.EnvVar("GRAVELER_DATA"))

    @dg.asset
    def t() -> dict[str, bytes]:
        return CONTENT

    defs = write_audit_publish(
        tables=[t], key=["flights", "main"], job="publish_only", executor_def=dg.in_process_executor
    )
    resources = {"branch": branch, "io_manager": FilesIOManager(branch=branch)}
    return dg.Definitions.merge(defs, dg.Definitions(resources=resources)).resolve_job_def("publish_only")
