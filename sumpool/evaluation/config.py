"""How summaries are scored: the `evaluate` section of a recipe."""

from pydantic import Field

from sumpool.settings import Settings


class EvaluationConfig(Settings):
    """ROUGE, its intervals and the baselines beside it."""

    stemmer: bool = True
    """Porter's stemmer before words are compared."""
    resamples: int = Field(1000, ge=100)
    """Bootstrap resamples for a 95 % interval."""
    lead_words: int = Field(60, ge=1)
    """Words of the baselines LEAD and LexRank."""
    oracle_sentences: int = Field(3, ge=1)
    """Sentences of the greedy oracle."""
    low_leak: float = Field(0.2, ge=0, le=1)
    """A summary is low-leak while less than this share of its 8-grams stand in the document."""
