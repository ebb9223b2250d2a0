"""Factories for jobs and schedules."""
