"""The words of the system as values: ids, names, entities, entries, layers, changes, addresses, time and chance."""
