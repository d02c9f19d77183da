"""A model beside its twins and peers: measured in the same turns, saved, compared and drawn."""
