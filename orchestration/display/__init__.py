"""What people see in the UI: tables, schemas, plots."""
