"""Pages for a browser: looking at repositories, comparing and merging. Rendered on the server, without scripts."""
