"""Values for display in the Dagster UI: markdown, tables, schemas."""
