"""Why a summary says what it says: where the vectors of the memory come from, and which sentences were looked at."""
