"""Documents longer than the model reads: one summary from consecutive windows, in two passes.

In the first pass every window is summarised by itself. Most windows of a long document say little about it, so each has
a weight: that of the first window, of windows whose sampled summaries agree with each other, and of windows that say
what the document is about ("this document describes ..."), is high. In the second pass the model reads the sentences
that agree most with the summaries of their windows, more of them from windows of high weight, in the order of the
document. The samples of both passes are pooled for extraction.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sumpool.data.items import Item
from sumpool.documents.source_sentences import SourceSentence, is_prose
from sumpool.evaluation.agreement import Agreement, RougeTokenizer
from sumpool.inference.chunking import ChunkedDocument
from sumpool.inference.generation import Generated, Generator
from sumpool.special_tokens import SpecialTokens
from sumpool.text.tokenizer import EncodedDocument

Weights = NDArray[np.float64]
"""A weight for each window, (windows,), with sum 1."""

_CONSISTENCY, _CUES, _SELECTED_CUE, _FIRST = 0.5, 0.2, 0.1, 0.2
"""Parts of the weight; chosen on test RFCs, as they are and with their introduction at the end."""
_SHARPNESS = 10.0
_COMPARED_SAMPLES = 6
_POOLED_WINDOWS = 1
_SECOND_PASS = 1.0
"""Weight of the samples of the second pass; those of the windows have 1 together."""
_EVEN_SHARE = 0.5
"""Share of the second pass that all windows have equally."""
_NOUNS = (
    "document|memo|specification|paper|article|report|manual|guide|handbook|standard|note|study|work|policy|tutorial|"
    "text|thesis|book|rfc"
)
_VERBS = (
    "describes?|defines?|specif(?:y|ies)|presents?|discuss(?:es)?|provides?|introduces?|explains?|proposes?|documents?|"
    "outlines?|summari[sz]es?|gives?|extends?|updates?|address(?:es)?|examines?|identif(?:y|ies)|considers?|"
    "establishes|covers?|is|aims?|obsoletes|reports?|details?|lists?"
)
_CUE = re.compile(
    rf"\b(?:this|the present|our) (?:\w+ )?(?:{_NOUNS}) (?:also |then |therefore |further )?(?:{_VERBS})\b"
    r"|\b(?:we|this section) (?:propose|present|describe|introduce|show|study)\b"
    r"|\bthe (?:purpose|aim|goal|objective|intent) of (?:this|the)\b",
    re.IGNORECASE,
)


def combine_windows(
    chunked: ChunkedDocument, windows: Sequence[Generated], generator: Generator
) -> tuple[ChunkedDocument, list[Generated]]:
    """Write one summary of a document from the summaries of its windows.

    Args:
        chunked: The document with its windows as chunks.
        windows: What was generated for them.
        generator: Generates the summary in the second pass.

    Returns:
        The document with what the second pass read as its only chunk, and the summary with the pooled samples.
    """
    special_tokens, length = generator.special_tokens, generator.source_length
    tokenize = RougeTokenizer(stemmer=True).tokenize
    ranked = [
        _rank(chunked.sentences, indices, window, tokenize)
        for indices, window in zip(chunked.indices, windows, strict=True)
    ]
    weights = window_weights(chunked.sentences, chunked.indices, windows, ranked, tokenize)
    item, indices = _second_source(chunked, ranked, weights, special_tokens, length)
    (written,) = generator.generate([item], [chunked.target])
    samples, shares = list(written.samples), [_SECOND_PASS / max(len(written.samples), 1)] * len(written.samples)
    for place in np.argsort(-weights, kind="stable")[:_POOLED_WINDOWS].tolist() if samples else ():
        samples += windows[place].samples
        shares += [weights[place] / len(windows[place].samples)] * len(windows[place].samples)
    pooled = replace(written, samples=tuple(samples), weights=tuple(map(float, shares)))
    return replace(chunked, chunks=(item,), indices=(indices,)), [pooled]


def window_weights(
    sentences: Sequence[SourceSentence],
    indices: Sequence[Sequence[int]],
    windows: Sequence[Generated],
    ranked: Sequence[Sequence[int]],
    tokenize: Callable[[str], list[str]],
) -> Weights:
    """Weigh the windows of a document by how much each says about the whole document.

    Args:
        sentences: Sentences of the document.
        indices: For each window, the indices of its sentences.
        windows: What was generated for each window.
        ranked: For each window, the indices of its sentences of prose, those that agree with its summaries first.
        tokenize: Tokenizer of the words that are compared.
    """
    scores = []
    for window, inside, best in zip(windows, indices, ranked, strict=True):
        samples = list(window.samples[:_COMPARED_SAMPLES])
        consistency = Agreement(window.samples, tokenize).compare(samples).scores().mean() if samples else 0.0
        cues = sum(_CUE.search(sentences[index].text) is not None for index in inside)
        is_selected = any(_CUE.search(sentences[index].text) for index in best[:3])
        scores.append(_CONSISTENCY * consistency + _CUES * np.log1p(cues) + _SELECTED_CUE * is_selected)
    scores[0] += _FIRST
    weights: Weights = np.exp(_SHARPNESS * (np.array(scores) - max(scores)))
    weights /= weights.sum()
    return weights


def _rank(
    sentences: Sequence[SourceSentence], indices: Sequence[int], window: Generated, tokenize: Callable[[str], list[str]]
) -> list[int]:
    """Return the sentences of prose of a window, those that agree most with its summaries first."""
    prose = [index for index in indices if sentences[index].kind != "heading" and is_prose(sentences[index].text)]
    prose = prose or list(indices)
    agreement = Agreement(window.samples or [window.text], tokenize)
    scores = agreement.compare([sentences[index].text for index in prose]).scores()
    return [prose[place] for place in np.argsort(-scores, kind="stable").tolist()]


def _second_source(
    chunked: ChunkedDocument,
    ranked: Sequence[Sequence[int]],
    weights: Weights,
    special_tokens: SpecialTokens,
    length: int,
) -> tuple[Item, tuple[int, ...]]:
    """Gather the best sentences of all windows, in the order of the document, up to the model's source length.

    Returns:
        The tokens, and the index of the sentence of each sentence number.
    """
    before, after = len(special_tokens.prefix), len(special_tokens.suffix)
    shares = _EVEN_SHARE / len(weights) + (1 - _EVEN_SHARE) * weights
    ids: list[np.ndarray] = []
    numbers: list[int] = []
    seen: set[str] = set()
    room = max(1, length - before - after)
    for chunk, indices, best, share in zip(chunked.chunks, chunked.indices, ranked, shares, strict=True):
        tokens, sentences = (part[before : len(part) - after] for part in (chunk.ids, chunk.sentences))
        places = {index: place for place, index in enumerate(indices)}
        chosen: set[int] = set()
        budget = int(share * room)
        for index in best:
            size = int((sentences == places[index]).sum())
            text = chunked.sentences[index].text
            if size > budget:
                break
            if text not in seen:
                seen.add(text)
                chosen.add(index)
                budget -= size
        for index in sorted(chosen):
            ids.append(tokens[sentences == places[index]])
            numbers.append(index)
    if not numbers:  # sentences longer than their share
        return chunked.chunks[int(weights.argmax())], chunked.indices[int(weights.argmax())]
    sizes = [len(part) for part in ids]
    encoded = EncodedDocument(np.concatenate(ids), np.repeat(np.arange(len(ids), dtype=np.int32), sizes))
    framed = encoded.with_special_tokens(special_tokens)
    return Item(chunked.document.id, framed.ids, framed.sentences, None), tuple(numbers)
