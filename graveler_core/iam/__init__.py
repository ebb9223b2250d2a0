"""Who may: users, groups and policies on the key-value store, and the pure evaluation of requests."""
