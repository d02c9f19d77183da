"""Why a summary says what it says: where every vector of the memory comes from."""
