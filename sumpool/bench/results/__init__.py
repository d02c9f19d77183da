"""What a benchmark found: plain values, their tables, and the machine that it ran on."""
