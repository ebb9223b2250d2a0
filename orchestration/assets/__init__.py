"""The assets of the flights pipeline."""
