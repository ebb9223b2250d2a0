"""Handlers of `GravelerIOManager`: each stores and loads the values of one library."""
