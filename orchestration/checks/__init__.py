"""Asset checks: what must hold before anything is published."""
