"""Mathematics shared by model families."""
