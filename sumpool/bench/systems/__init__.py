"""Random documents, and the workloads that are measured on a model."""
