"""Pages for a browser, to view repositories, and to compare and merge refs. The server renders them without scripts."""
