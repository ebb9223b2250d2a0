"""Asset checks that must pass before a batch is published."""
