"""Encoding of documents for training, in which documents that are too long are reduced to their best sentences."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from sumpool.data.config import Example
from sumpool.data.prepare import DocumentEncoder
from sumpool.data.report import text_digest
from sumpool.data.shards import Item
from sumpool.documents.document import Document
from sumpool.documents.source_sentences import SourceSentence, source_sentences
from sumpool.evaluation.rouge import UnicodeTokenizer
from sumpool.ranking.content_selection import ContentSelectionConfig, best_sentences, encode_source
from sumpool.ranking.features import sentence_features
from sumpool.ranking.ranker import Ranker
from sumpool.ranking.selection import find_candidates


class SelectingEncoder(DocumentEncoder):
    """Encodes documents, or their best sentences, with their summaries."""

    def __init__(self, config: ContentSelectionConfig, folder: Path, language: str) -> None:
        super().__init__(folder, language)
        self._config, self._language = config, language
        self._ranker = Ranker.load(config.ranker_folder)

    def item(self, example: Example) -> Item:
        """Encode a document, or its best sentences if it is too long, with its summary."""
        item = super().item(example)
        if len(item.ids) <= self._config.tokens:
            return item
        document = Document(example.id, example.document)
        sentences = source_sentences(document, self.splitter)
        source, indices = encode_source(document, sentences, self.tokenizer, self.splitter)
        scores, special_tokens = self._scores(example, sentences), self.tokenizer.special_tokens
        selected, part = best_sentences(source, indices, scores, self._config.tokens, special_tokens)
        return Item(item.id, part.ids, part.sentences, item.target) if selected else item

    def _scores(self, example: Example, sentences: Sequence[SourceSentence]) -> dict[int, float]:
        """Return the score of each sentence that may be chosen, by its index."""
        if example.split == "train" and self._config.training == "reference":
            random = np.random.default_rng(text_digest(example.id))
            texts = [sentence.text for sentence in sentences]
            return dict(enumerate((shared_pairs(texts, example.summary) + random.random(len(texts))).tolist()))
        candidates = find_candidates(sentences)
        scores = self._ranker.score(sentence_features(sentences, candidates, "", self._language))
        return dict(zip(candidates, scores.tolist(), strict=True))


def shared_pairs(texts: Sequence[str], reference: str) -> np.ndarray:
    """Return how many pairs of successive words each text shares with a reference, which orders by ROUGE-2 recall."""
    tokenize = UnicodeTokenizer(stemmer=False).tokenize
    pairs = Counter(pairwise(tokenize(reference)))
    return np.array([(Counter(pairwise(tokenize(text))) & pairs).total() for text in texts], np.float64)
