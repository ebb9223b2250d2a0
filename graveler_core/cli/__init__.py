"""The command line `graveler`, for users and scripts. It is the topmost layer: nothing imports it."""
