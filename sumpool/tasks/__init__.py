"""Tasks that models are trained for, a package each; `sumpool.recipe.task` finds them by their names."""
