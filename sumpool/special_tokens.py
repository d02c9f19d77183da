"""Special tokens of a vocabulary."""

from dataclasses import dataclass

PAD, UNK, BOS, EOS, PARAGRAPH = range(5)
"""Ids in learnt vocabularies; PARAGRAPH is a line feed after the last sentence of a paragraph."""


@dataclass(frozen=True)
class SpecialTokens:
    """Ids of a vocabulary's special tokens; the defaults are those of learnt vocabularies.

    Attributes:
        pad: Padding.
        eos: End of a summary.
        decoder_start: First input of the decoder.
        suppressed: Tokens that are never generated. The unknown token is one of them in learnt vocabularies, whose byte
            fallback leaves no text without tokens.
        prefix: Tokens before every document and every reference summary.
        suffix: Tokens after every document.
    """

    pad: int = PAD
    eos: int = EOS
    decoder_start: int = BOS
    suppressed: tuple[int, ...] = (PAD, UNK, BOS)
    prefix: tuple[int, ...] = ()
    suffix: tuple[int, ...] = ()


DEFAULT_SPECIAL_TOKENS = SpecialTokens()
"""Special tokens of learnt vocabularies."""
