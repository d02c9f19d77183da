"""What a model costs: time, memory and counted operations, beside its twins."""
