"""One module an algorithm, each with a list `RACES`; all of them are found by name."""
