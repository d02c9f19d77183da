"""What is measured: random documents, what a model does with them, and what a peer must do as well."""
