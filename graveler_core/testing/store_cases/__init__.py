"""The cases of `StoreSuite`, by what they are about."""
