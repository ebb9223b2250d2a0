"""What ./run bench runs."""
