"""Benchmarks that `./run bench` runs."""
