"""Speed and memory of a model beside its peers, by document length and on a corpus."""
