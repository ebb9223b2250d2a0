"""Object storage: a port, implementations for local directories and remote stores, and a cache of immutable objects."""
