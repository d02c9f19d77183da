"""Tasks of the Long Range Arena: generated data, readers of published formats, and tables."""
