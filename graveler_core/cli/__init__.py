"""The command line `graveler`: the façade for people and scripts. The topmost layer; nothing imports it."""
