"""Access control: users, groups and policies in the key-value store, and the evaluation of requests."""
