"""Server that speaks the API of lakeFS over a graveler store, for existing clients: `graveler serve`."""
