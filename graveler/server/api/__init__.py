"""The API of lakeFS: one module for each kind of resource, and one table of routes."""
