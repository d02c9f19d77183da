"""The command line: arguments in, one workflow called, progress and results drawn."""
