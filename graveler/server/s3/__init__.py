"""S3 gateway: repositories as buckets, `<ref>/<path>` as keys, for S3 clients."""
