"""Object storage: one port, opened by storage namespace; a cache of immutable objects; a counting wrapper."""
