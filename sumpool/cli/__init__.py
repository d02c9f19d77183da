"""Command line: one module per command, which parses arguments, calls a workflow and prints its results."""
