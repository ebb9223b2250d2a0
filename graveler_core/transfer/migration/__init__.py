"""Migration of repositories from the relational schema of seed 000, in PostgreSQL or SQLite: see `migration.run`."""
