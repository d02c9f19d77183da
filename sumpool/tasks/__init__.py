"""Tasks beside summarization: what only they, or only a teacher of a training, need."""
