"""S3 gateway: repositories as buckets, `<ref>/<path>` as keys, for clients of S3."""
