"""Values of the data model: ids, names, entities, entries, layers, changes, addresses, time and randomness."""
