"""Work on many machines by Ray Data: summaries of corpora, evaluations, preparations; requires the extra `ray`."""
