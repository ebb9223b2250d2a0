"""Factories for sensors. Each sensor starts the job that it is given."""
