"""Test cases of `StoreSuite`, grouped by subject."""
