"""A model beside its baselines and peers: measured in the same turns, saved and compared."""
