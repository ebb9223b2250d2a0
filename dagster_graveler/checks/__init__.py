"""Factories for asset checks."""
