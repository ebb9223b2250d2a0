"""Publication of tables from Dagster: written on a branch, checked there, and merged only if all checks passed."""
