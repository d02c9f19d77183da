import json
import random
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import sumpool.data.prepare
from sumpool.data.config import DataConfig, Example, Reject, SourceConfig, Split
from sumpool.data.prepare import spans
from sumpool.data.prepared_folder import find_or_prepare, find_prepared
from sumpool.data.report import DataReport
from sumpool.data.shards import Shard, Texts, TextsWriter
from sumpool.errors import DataError, RecipeError, ResourceError
from sumpool.progress import Progress, no_op
from sumpool.text.sentencepiece_tokenizer import Phrases
from sumpool.text.sentences import SentenceSplitter
from sumpool.text.tokenizer import encode_document, load_tokenizer
from tests.text import bart
from tests.text.bart import learn, take_over

WORDS = ["router", "packet", "header", "the", "a", "network", "protocol", "address", "of", "must", "is", "sent"]


class LinesConfig(SourceConfig):
    """A file of JSON lines: id, document, summary, split; any other line is rejected."""

    kind: str = "lines"
    path: Path

    def rows(self) -> Iterator[Example | Reject]:
        for number, line in enumerate(self.path.read_text().splitlines(), start=1):
            try:
                yield Example(**json.loads(line))
            except (ValueError, TypeError):
                yield Reject(f"{self.path}:{number}", "row must be an object")

    def notes(self) -> Iterator[str]:
        yield "the field 'text' is taken for the document"


def example(number: int, split: Split) -> Example:
    draw = random.Random(number)
    sentences = [" ".join(draw.choices(WORDS, k=12)).capitalize() + "." for _ in range(draw.randrange(4, 30))]
    return Example(
        f"d{number}", "\n\n".join(" ".join(part) for part in (sentences[:3], sentences[3:])), sentences[0], split
    )


def corpus() -> list[Example]:
    splits: tuple[Split, ...] = (*("train",) * 8, "validation", "test")
    return [example(number, splits[number % 10]) for number in range(60)]


def write(path: Path, examples: list[Example], *more: str) -> DataConfig:
    lines = [json.dumps(vars(example)) for example in examples]
    path.write_text("\n".join([*lines, *more]) + "\n")
    return config(path)


def config(path: Path, vocabulary: int = 400, workers: int = 2) -> DataConfig:
    return DataConfig.model_construct(source=LinesConfig(path=path), vocabulary=vocabulary, workers=workers)


def run(settings: DataConfig, folder: Path, skip_bad_rows: bool = False) -> tuple[DataReport, list[Progress]]:
    reports: list[Progress] = []
    found = find_or_prepare(settings, folder, skip_bad_rows=skip_bad_rows, report=reports.append, check=no_op)
    return DataReport.load(found), reports


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shared")
    run(write(folder / "data", corpus()), folder / "prepared")
    return folder / "prepared"


def test_shards_contain_all_documents_in_order(prepared: Path) -> None:
    tokenizer = load_tokenizer(prepared)
    splitter = SentenceSplitter()
    for split in ("train", "validation", "test"):
        expected = [example for example in corpus() if example.split == split]
        shard = Shard(prepared, split)
        assert [shard.text(number) for number in range(len(shard))] == expected
        for number, example in enumerate(expected):
            item = shard[number]
            document = encode_document(example.document, tokenizer, splitter)
            assert item.id == example.id
            assert item.target is not None
            np.testing.assert_array_equal(item.ids, document.ids)
            np.testing.assert_array_equal(item.sentences, document.sentences)
            assert tokenizer.decode(item.target.tolist()) == example.summary


def test_report_matches_the_documents(prepared: Path) -> None:
    report = DataReport.load(prepared)
    train = report.splits["train"]
    assert (report.read, report.kept, report.rejected) == (60, 60, 0)
    assert [split.documents for split in report.splits.values()] == [48, 6, 6]
    lengths = [len(example.document.split()) for example in corpus() if example.split == "train"]
    assert train.document_words.mean == pytest.approx(np.mean(lengths))
    assert train.document_words.p50 == np.median(lengths)
    assert train.document_words.max == max(lengths)
    shard = Shard(prepared, "train")
    targets = [item.target for item in (shard[index] for index in range(len(shard))) if item.target is not None]
    assert train.summary_tokens.mean == pytest.approx(np.mean([len(target) for target in targets]))
    assert train.document_tokens.max == shard.lengths.max()
    assert train.coverage == 1
    assert train.density == pytest.approx(12)


def test_phrases_are_trained_if_set(tmp_path: Path, prepared: Path) -> None:
    run(write(tmp_path / "data", corpus()).model_copy(update={"phrases": 420}), tmp_path / "here")
    assert files_of(tmp_path / "here").keys() - files_of(prepared).keys() == {"phrases.model"}
    shard = Shard(tmp_path / "here", "train")
    phrases = Phrases.load(tmp_path / "here" / "phrases.model").indices(shard[0].ids, shard[0].sentences)
    assert len(phrases) == len(shard[0].ids)
    assert len(set(phrases.tolist())) < len(phrases)
    assert set(phrases.tolist()) != set(shard[0].sentences.tolist())  # more than one to a sentence


@pytest.mark.slow
def test_files_are_independent_of_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = write(tmp_path / "data", corpus()).model_copy(update={"phrases": 420})
    run(settings, tmp_path / "alone" / "prepared")
    monkeypatch.setattr(sumpool.data.prepare, "_SMALL_BYTES", 0)
    monkeypatch.setattr(sumpool.data.prepare, "_SPAN_BYTES", 4000)
    run(settings, tmp_path / "spread" / "prepared")
    assert files_of(tmp_path / "spread") == files_of(tmp_path / "alone")


def test_bad_rows_are_an_error_with_its_location_or_skipped_and_listed(tmp_path: Path) -> None:
    settings = write(tmp_path / "data", corpus(), "{nonsense", "[]")
    with pytest.raises(DataError, match=r"data:61: row must be an object; correct it, or skip .* with --skip-bad-rows"):
        run(settings, tmp_path / "prepared")
    assert not (tmp_path / "prepared").exists()
    report, reports = run(settings, tmp_path / "prepared", skip_bad_rows=True)
    assert (report.read, report.kept, report.rejected) == (62, 60, 2)
    rejects = [json.loads(line) for line in (tmp_path / "prepared" / "rejects.jsonl").read_text().splitlines()]
    assert rejects == [{"where": f"{tmp_path}/data:{line}", "reason": "row must be an object"} for line in (61, 62)]
    assert "2 rows could not be used; rejects.jsonl lists them with their reasons" in [step.note for step in reports]
    run(settings, tmp_path / "prepared")  # skipping is not asked for again: the data is prepared


def test_invisible_characters_are_reported(tmp_path: Path) -> None:
    row = json.dumps(
        {"id": "hidden", "document": "hosts\u200b send\u2800 packets", "summary": "hosts\u200e send", "split": "train"}
    )
    report, reports = run(write(tmp_path / "data", corpus(), row), tmp_path / "prepared")
    assert (report.invisible, DataReport.load(tmp_path / "prepared").invisible) == (3, 3)
    assert "3 invisible characters of documents and summaries are removed" in [step.note for step in reports]


def test_smaller_vocabulary_notes_of_the_source_and_empty_splits_are_reported(tmp_path: Path) -> None:
    write(tmp_path / "data", [example(number, "train") for number in range(60)])
    report, reports = run(config(tmp_path / "data", vocabulary=20000), tmp_path / "prepared")
    assert report.vocabulary < 20000
    assert report.notes == (
        "the field 'text' is taken for the document",
        f"the vocabulary has {report.vocabulary:,} tokens instead of data.vocabulary = 20,000: the training documents "
        "yield no more",
        "the validation split is empty",
        "the test split is empty",
    )
    assert tuple(step.note for step in reports if step.note) == report.notes
    assert report.splits["test"].summary_tokens.max == 0


def test_overlap_of_splits_is_measured(tmp_path: Path) -> None:
    long = " ".join(f"word{number}" for number in range(40))
    train = [*corpus(), Example("t1", long, "s", "train"), Example("t2", long, "s", "train")]
    copies = [Example("v1", long, "s", "validation"), Example("v2", f"{long} {long[:100]}", "s", "test")]
    report, _ = run(write(tmp_path / "data", train + copies), tmp_path / "prepared")
    splits = report.splits
    assert [split.duplicates for split in splits.values()] == [1, 0, 0]
    assert [split.in_training for split in splits.values()] == [0, 1, 0]


def test_folder_with_other_content_is_kept(tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.txt").write_text("precious")
    with pytest.raises(RecipeError, match=r"thesis must be new, empty or prepared data, got other content"):
        run(write(tmp_path / "data", corpus()), tmp_path / "thesis")
    assert (tmp_path / "thesis" / "chapter.txt").read_text() == "precious"


def test_full_disk_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "prepared"
    settings = write(tmp_path / "data", corpus())
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource = pytest.importorskip("resource")  # not on Windows
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
    for size in (10, 3000, 10_000, 60_000):  # lines, shards, and the vocabulary are too large in turn
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, unlimited[1]))
        try:
            with pytest.raises(ResourceError, match=r"prepared must be written completely, got: .*File too large"):
                run(settings, folder)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
        assert not folder.exists()


GERMAN = (
    "Der Rechner sendet ein Paket an das Netz, und das Netz gibt es an einen anderen Rechner weiter, der auf die "
    "Antwort wartet, bis sie mit dem nächsten Paket kommt."
)


@pytest.mark.parametrize(("text", "language"), [(GERMAN, "de"), ("router packet header client sent", "")])
def test_report_has_the_language_of_the_training_documents(tmp_path: Path, text: str, language: str) -> None:
    train = [Example(f"d{number}", f"{text} {number} " * 3, text, "train") for number in range(30)]
    english = "The host sends a packet to the gateway and waits for the answer that is in the next one. "
    settings = write(tmp_path / "rows.jsonl", [*train, Example("e", english * 9, english, "test")])
    assert run(settings, tmp_path / "data")[0].language == language


def with_tokenizer(path: Path, tokenizer: Path, vocabulary: int | None = None) -> DataConfig:
    return DataConfig.model_construct(source=LinesConfig(path=path), tokenizer=tokenizer, vocabulary=vocabulary)


def test_tokenizer_of_another_folder_is_copied(tmp_path: Path, prepared: Path) -> None:
    write(tmp_path / "data", corpus())
    settings = with_tokenizer(tmp_path / "data", prepared)
    report, _ = run(settings, tmp_path / "prepared")
    copied, trained = files_of(tmp_path / "prepared"), files_of(prepared)
    assert {name for name in copied if copied[name] != trained[name]} == {"manifest.json", "report.json"}
    assert replace(DataReport.load(prepared), notes=report.notes) == report  # training notes a smaller vocabulary
    same = with_tokenizer(tmp_path / "data", prepared, report.vocabulary)
    assert find_prepared(same, tmp_path / "prepared", no_op) == tmp_path / "prepared"


def test_special_tokens_stand_around_documents_and_before_summaries(tmp_path: Path) -> None:
    write(tmp_path / "data", corpus())
    tokenizer = take_over(learn([" ".join(WORDS)], tmp_path / "bart"), tmp_path / "taken")
    report, _ = run(with_tokenizer(tmp_path / "data", tmp_path / "taken"), tmp_path / "prepared")
    assert report.vocabulary == tokenizer.vocab_size
    assert not (tmp_path / "prepared" / "tokenizer.model").exists()
    shard = Shard(tmp_path / "prepared", "test")
    for number in range(len(shard)):
        item, text = shard[number], shard.text(number)
        assert item.target is not None
        assert item.target.tolist() == [*tokenizer.special_tokens.prefix, *tokenizer.encode(text.summary)]
        assert item.ids.tolist() == [bart.BOS, *tokenizer.encode(" ".join(text.document.split())), bart.EOS]
        assert item.sentences[-1] == item.sentences[-2]


def test_vocabulary_must_match_the_tokenizer(tmp_path: Path, prepared: Path) -> None:
    write(tmp_path / "data", corpus())
    size = load_tokenizer(prepared).vocab_size
    with pytest.raises(RecipeError, match=rf"data\.vocabulary must be null or {size}, the size of .*, got 420"):
        run(with_tokenizer(tmp_path / "data", prepared, 420), tmp_path / "new")
    with pytest.raises(DataError, match=r"none/tokenizer\.model must be a SentencePiece model, got .*No such file"):
        run(with_tokenizer(tmp_path / "data", tmp_path / "none"), tmp_path / "new")
    assert not (tmp_path / "new").exists()


def texts(folder: Path, sizes: list[int]) -> Texts:
    with TextsWriter(folder, "test") as writer:
        for number, size in enumerate(sizes):
            writer.add(Example(str(number), "x" * size, "", "test"))
    return Texts(folder, "test")


def test_spans_have_similar_amounts_of_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sumpool.data.prepare, "_SPAN_BYTES", 1000)
    divided = list(spans(texts(tmp_path, [300, 300, 300, 5000, 10, 10, 900]), "test"))
    assert divided == [("test", *ends) for ends in [(0, 2), (2, 3), (3, 4), (4, 6), (6, 7)]]
    assert list(spans(texts(tmp_path / "few", [5, 5]), "test")) == [("test", 0, 2)]
    assert list(spans(texts(tmp_path / "none", []), "test")) == []
