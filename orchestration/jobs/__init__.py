"""The jobs that people and schedules start."""
