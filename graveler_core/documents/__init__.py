"""JSON documents of results, for the command line, Spark programs and Dagster."""
