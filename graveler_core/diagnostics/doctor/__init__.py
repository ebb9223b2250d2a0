"""What is wrong with a store, and the command that mends it. Changes nothing by itself."""
