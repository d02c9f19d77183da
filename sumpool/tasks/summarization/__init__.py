"""Task of summarising documents: training and evaluation of its models."""
