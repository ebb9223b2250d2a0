"""Migration of repositories of lakeFS from its own formats: see `lakefs.migration`."""
