"""Doctor: finds problems of a store and names the commands that fix them. It changes nothing."""
