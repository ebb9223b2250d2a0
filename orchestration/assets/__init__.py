"""Assets of the flights pipeline."""
