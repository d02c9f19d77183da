"""Tables and figures of Nawrot et al. (2023): language models with several boundaries, trained for equal times."""
