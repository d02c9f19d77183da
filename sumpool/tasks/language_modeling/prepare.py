"""Preparation of running text for language models.

Files of a prepared folder:

    units.json                   characters, those of the training split or copied from data.tokenizer
    subwords.model               unigram subwords of words, if data.subwords is set
    <split>/*.bin, stream.json   token ids and boundaries, see `sumpool.tasks.language_modeling.stream`
    report.json                  report
    manifest.json                size and SHA-256 of every file, and a fingerprint of the source and the settings

The text is held in memory.
"""

import re
import shutil
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Final, final

import numpy as np

from sumpool.data.config import SPLITS, Split
from sumpool.documents.document import Reject
from sumpool.errors import DataError, RecipeError
from sumpool.progress import Check, Progress, Report
from sumpool.special_tokens import UNK
from sumpool.tasks.language_modeling.config import TextDataConfig, TextReport, TextSplitReport
from sumpool.tasks.language_modeling.running_text import normalizer
from sumpool.tasks.language_modeling.stream import write_stream
from sumpool.text.cleaning import cut_at_spaces, reservoir_sample
from sumpool.text.sentencepiece_tokenizer import SentencePieceModel, train_unigram
from sumpool.text.tokenizer import load_tokenizer, tokenizer_files
from sumpool.text.units import UnitTokenizer

SUBWORDS = "subwords.model"
_PART: Final = 1 << 20
"""Characters that are encoded at once."""
_THREADS = 2
"""Threads that train vocabularies; a constant because the model files depend on it."""
_SAMPLE_LINES: Final = 100_000
"""Lines that subwords are learnt from."""
_MAX_LINE_CHARACTERS: Final = 1000
_CACHED_WORDS: Final = 1 << 18
"""Words whose division is kept, with about 100 bytes for each."""
_SPACES: Final = " \n"
_WORD: Final = re.compile(f"[^{_SPACES}]+")
_SETTINGS: Final = {
    "character_coverage": 1.0,
    "normalization_rule_name": "identity",
    "max_sentencepiece_length": 16,
    "max_sentence_length": 4 * _MAX_LINE_CHARACTERS,  # bytes
    "bos_id": -1,
    "eos_id": -1,
}
"""Settings of SentencePiece for subwords."""


@final
class WordSubwords(SentencePieceModel):
    """Unigram subwords of words (Kudo, 2018), which teach boundaries to language models.

    As Nawrot et al. (2023) do, a text is split at spaces and each word is divided by a SentencePiece unigram model. A
    boundary is the last character of each subword inside a word, and the space behind a word.
    """

    def __init__(self, model: bytes) -> None:
        """Wrap a serialised model; `load` and `train` are the usual ways to get one."""
        super().__init__(model)
        self._ends = lru_cache(_CACHED_WORDS)(self._inner_ends)

    @classmethod
    def train(cls, text: str, path: Path, vocabulary: int) -> "WordSubwords":
        """Train a model and write its file, with the settings of the released code: no normalization, all characters.

        The same text gives the same file. A sample of the lines of a long text is read.

        Args:
            text: The text.
            path: File to write.
            vocabulary: Number of subwords; short texts give fewer.

        Raises:
            DataError: If there is no text, or it has more different characters than subwords.
        """
        lines = map(str.strip, cut_at_spaces(text.replace("\n", " "), _MAX_LINE_CHARACTERS))
        sample = reservoir_sample(filter(None, lines), _SAMPLE_LINES)
        rule = "data.subwords must hold every character of the training text"
        path.write_bytes(train_unigram(sample, vocabulary, _THREADS, _SETTINGS, rule))
        return cls.load(path)

    def boundaries(self, text: str) -> np.ndarray:
        """Return which characters end a segment: (characters,) bool.

        Args:
            text: Text that begins with a whole word, or with white space.
        """
        ends = [index for index, character in enumerate(text) if character in _SPACES]
        for word in _WORD.finditer(text):
            ends += [word.start() + index for index in self._ends(word[0])]
        is_boundary = np.zeros(len(text), bool)
        is_boundary[ends] = True
        return is_boundary

    def _inner_ends(self, word: str) -> list[int]:
        """Return the last characters of all subwords of a word but the last one."""
        ends, length = list[int](), 0
        for subword in self._processor.encode(word, out_type=str)[:-1]:
            length += len(subword.removeprefix("▁") if not length else subword)
            if length:
                ends.append(length - 1)
        return ends


def prepare_text(config: TextDataConfig, folder: Path, *, skip_bad_rows: bool, report: Report, check: Check) -> None:
    """Fill a new folder with the prepared text, but for its manifest; see `find_or_prepare`.

    Raises:
        DataError: If a row cannot be used, a split has no text, or `data.tokenizer` holds no tokenizer.
        RecipeError: If `data.tokenizer` is no vocabulary of characters.
    """
    # 1. Text of each split.
    texts, documents, rejected = read_texts(config, skip_bad_rows=skip_bad_rows, report=report, check=check)
    # 2. Vocabulary, and what teaches boundaries.
    report(Progress("prepare: vocabulary"))
    if config.tokenizer:
        tokenizer = load_tokenizer(config.tokenizer)
        if not isinstance(tokenizer, UnitTokenizer) or tokenizer.units != "characters":
            raise RecipeError(f"data.tokenizer must have a vocabulary of characters, got another in {config.tokenizer}")
        for path in tokenizer_files(config.tokenizer):
            shutil.copyfile(path, folder / path.name)
    else:
        read = SPLITS if config.vocabulary_from == "all" else SPLITS[:1]
        tokenizer = UnitTokenizer.train((texts[split] for split in read), folder, "characters", config.vocabulary_size)
    subwords = None
    if config.subwords:
        report(Progress("prepare: subwords"))
        subwords = WordSubwords.train(texts["train"], folder / SUBWORDS, config.subwords)
    # 3. Ids and boundaries, in parts between which the work can be stopped.
    table = np.full(0x110000, UNK, np.int32)
    for index, token in enumerate(tokenizer.token_bytes()):
        if token:
            table[ord(token.decode())] = index
    splits: dict[Split, TextSplitReport] = {}
    for split, text in texts.items():
        ids, ends, done = [], [], 0
        for part in cut_at_spaces(text, _PART):
            check()
            ids.append(table[np.frombuffer(part.encode("utf-32-le"), "<u4")])
            if subwords:
                ends.append(subwords.boundaries(part))
            done += len(part)
            report(Progress(f"prepare: {split}", done, len(text)))
        tokens, boundaries = np.concatenate(ids), np.concatenate(ends) if ends else None
        write_stream(folder, split, tokens, boundaries, tokenizer.vocab_size)
        splits[split] = TextSplitReport(
            documents=documents[split],
            words=len(text.split()),
            tokens=len(tokens),
            unknown=int((tokens == UNK).sum()),
            boundaries=0 if boundaries is None else int(boundaries.sum()),
        )
    # 4. Report.
    unknown = sum(part.unknown for part in splits.values())
    if rejected:
        report(Progress("prepare", note=f"{rejected:,} rows could not be used"))
    if unknown:
        note = f"{unknown:,} characters are not in the vocabulary, and are read as one unknown character"
        report(Progress("prepare", note=note))
    kept = sum(documents.values())
    TextReport(kept + rejected, kept, rejected, tokenizer.vocab_size, splits).save(folder)


def read_texts(
    config: TextDataConfig, *, skip_bad_rows: bool, report: Report, check: Check
) -> tuple[dict[Split, str], dict[Split, int], int]:
    """Read, normalise and divide the text of a source; documents are separated by a line end, or a space without them.

    Returns:
        Text of each split; documents of each split, those of a text that is divided by position all in training; and
        the number of rows that could not be used.

    Raises:
        DataError: If a row cannot be used and `skip_bad_rows` is false, or a split has fewer than two characters.
    """
    parts: dict[Split, list[str]] = {split: [] for split in SPLITS}
    documents, characters = dict.fromkeys(SPLITS, 0), dict.fromkeys(SPLITS, 0)
    evaluated = config.max_evaluation_characters
    limits: dict[Split, int | None] = {"train": config.max_characters, "validation": evaluated, "test": evaluated}
    normalize = normalizer(config.clean) if config.clean else None
    separator = " " if config.clean and not config.clean.lines else "\n"
    rejected = 0
    for document in config.source.documents():
        check()
        if isinstance(document, Reject):
            if not skip_bad_rows:
                where = f"{document.where}: {document.reason}"
                raise DataError(f"{where}; correct it, or skip such rows with --skip-bad-rows")
            rejected += 1
            continue
        split = document[0] or "train"
        limit, read = limits[split], parts[split]
        if limit is not None and characters[split] >= limit:
            if document[0] is None:
                break
            continue
        text = normalize(document[1]) if normalize else document[1]
        documents[split] += 1
        if normalize and read and text:
            read[-1] = read[-1].rstrip(" \n")  # the separator is the only white space between documents
        if text or not normalize:
            read += [separator, text] if read else [text]
        characters[split] += len(text) + 1
        report(Progress("prepare: read", sum(characters.values())))
    texts = {split: "".join(read)[: limits[split]] for split, read in parts.items()}
    if config.source.path is not None:
        whole = texts["train"]
        test, validation = (round(len(whole) * share) for share in (config.test_share, config.validation_share))
        cuts = (0, len(whole) - validation - test, len(whole) - test, len(whole))
        texts = {split: whole[start:end] for split, (start, end) in zip(SPLITS, pairwise(cuts), strict=True)}
    for split, text in texts.items():
        if len(text) < 2:
            raise DataError(f"the {split} split must hold at least two characters, got {len(text)}; take more text")
    return texts, documents, rejected
