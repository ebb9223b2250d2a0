"""Moving metadata: whole stores between backends, and refs through one file from repository to repository."""
