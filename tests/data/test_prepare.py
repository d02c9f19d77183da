import json
import random
import signal
import subprocess
import sys
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
from sumpool.data.sources import JsonlSourceConfig
from sumpool.errors import DataError, Interrupted, RecipeError, ResourceError
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
    assert train.novel_ngrams == (0, 0, 0, 0)
    assert train.density == pytest.approx(12)
    assert train.compression == pytest.approx(np.mean(lengths) / 12)
    assert (train.leak, train.low_leak, train.duplicates, train.long_documents) == (1, 0, 0, 0)


@pytest.mark.slow
def test_files_are_independent_of_workers(tmp_path: Path, prepared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sumpool.data.prepare, "_SMALL_BYTES", 0)
    monkeypatch.setattr(sumpool.data.prepare, "_SPAN_BYTES", 4000)
    write(tmp_path / "data", corpus())
    run(config(tmp_path / "data", workers=2), tmp_path / "prepared")
    alone, spread = files_of(prepared), files_of(tmp_path / "prepared")
    assert alone.pop("manifest.json") != spread.pop("manifest.json")  # the source is another file
    assert alone == spread


def test_phrases_are_trained_if_set(tmp_path: Path, prepared: Path) -> None:
    run(write(tmp_path / "data", corpus()).model_copy(update={"phrases": 420}), tmp_path / "here")
    assert files_of(tmp_path / "here").keys() - files_of(prepared).keys() == {"phrases.model"}
    shard = Shard(tmp_path / "here", "train")
    phrases = Phrases.load(tmp_path / "here" / "phrases.model").indices(shard[0].ids, shard[0].sentences)
    assert len(phrases) == len(shard[0].ids)
    assert len(set(phrases.tolist())) < len(phrases)
    assert set(phrases.tolist()) != set(shard[0].sentences.tolist())  # more than one to a sentence


@pytest.mark.slow
def test_phrases_are_independent_of_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = write(tmp_path / "data", corpus()).model_copy(update={"phrases": 420})
    run(settings, tmp_path / "here" / "prepared")
    monkeypatch.setattr(sumpool.data.prepare, "_SMALL_BYTES", 0)
    run(settings, tmp_path / "elsewhere" / "prepared")
    assert files_of(tmp_path / "elsewhere") == files_of(tmp_path / "here")


def test_bad_row_is_an_error_with_its_location(tmp_path: Path) -> None:
    settings = write(tmp_path / "data", corpus(), "{nonsense")
    with pytest.raises(DataError, match=r"data:61: row must be an object; correct it, or skip .* with --skip-bad-rows"):
        run(settings, tmp_path / "prepared")
    assert not (tmp_path / "prepared").exists()


def test_bad_rows_can_be_skipped_and_are_listed(tmp_path: Path) -> None:
    settings = write(tmp_path / "data", corpus(), "{nonsense", "[]")
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


def test_invalid_examples_are_bad_rows(tmp_path: Path) -> None:
    bad = [
        (Example("d1", "text", "text", "train"), "document 'd1': id must be unique, got 'd1' a second time"),
        (Example("new", " \n", "text", "train"), r"document 'new': document must contain text, got ' \\n'"),
        (Example("new", "text", "", "train"), "document 'new': summary must contain text, got ''"),
        (Example("new", "te\ud800xt", "text", "train"), "document 'new': text must be valid Unicode, .* at 2"),
        (Example("\udfff", "text", "text", "train"), r"document '\\udfff': text must be valid Unicode"),
    ]
    for example, reason in bad:
        with pytest.raises(DataError, match=reason):
            run(write(tmp_path / "data", [*corpus()[:10], example]), tmp_path / "prepared")
    settings = write(tmp_path / "data", [*corpus(), *(example for example, _ in bad)])
    report, _ = run(settings, tmp_path / "prepared", skip_bad_rows=True)
    assert report.rejected == len(bad)


def test_repeated_ids_are_errors_with_their_location(tmp_path: Path) -> None:
    for name in ("train", "test"):
        (tmp_path / name).write_text('{"id": "d1", "document": "A text.", "summary": "Text."}\n')
    source = JsonlSourceConfig(train=tmp_path / "train", test=tmp_path / "test")
    with pytest.raises(DataError, match=f"^{tmp_path}/test:1: id must be unique, got 'd1' a second time; correct it"):
        run(DataConfig(source=source, vocabulary=400), tmp_path / "prepared")


def test_a_training_document_is_required(tmp_path: Path) -> None:
    settings = write(tmp_path / "data", [example(1, "test")])
    with pytest.raises(DataError, match="must have a training document, got 1 rows"):
        run(settings, tmp_path / "prepared", skip_bad_rows=True)


def test_smaller_vocabulary_is_noted(tmp_path: Path) -> None:
    write(tmp_path / "data", corpus())
    report, reports = run(config(tmp_path / "data", vocabulary=20000), tmp_path / "prepared")
    assert report.vocabulary < 20000
    note = (
        f"the vocabulary has {report.vocabulary:,} tokens instead of data.vocabulary = 20,000: the training documents"
    )
    assert any(step.note.startswith(note) for step in reports)
    assert any(kept.startswith(note) for kept in report.notes)


def test_notes_of_source_and_empty_splits_are_reported(tmp_path: Path) -> None:
    write(tmp_path / "data", [example(number, "train") for number in range(60)])
    report, reports = run(config(tmp_path / "data", vocabulary=300), tmp_path / "prepared")
    expected = (
        "the field 'text' is taken for the document",
        "the validation split is empty",
        "the test split is empty",
    )
    assert report.notes == expected
    assert tuple(step.note for step in reports if step.note) == expected
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


@pytest.mark.slow
def test_interruption_leaves_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "prepared"
    settings = write(tmp_path / "data", corpus())
    calls = 0

    def count() -> None:
        nonlocal calls
        calls += 1

    find_or_prepare(settings, tmp_path / "other" / "prepared", skip_bad_rows=False, report=lambda _: None, check=count)
    assert calls > 60
    for moment in (1, 30, 60, 61, 62, 64, calls):
        left = moment

        def stop() -> None:
            nonlocal left
            left -= 1
            if not left:
                raise Interrupted(signal.SIGINT)

        with pytest.raises(Interrupted):
            find_or_prepare(settings, folder, skip_bad_rows=False, report=lambda _: None, check=stop)
        assert not folder.exists()
        assert not (tmp_path / ".tmp-prepared").exists()


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


PROGRAM = """
import sys
from pathlib import Path
import sumpool.data.prepare
from test_prepare import config
from sumpool.data.prepared_folder import find_or_prepare
if __name__ == "__main__":
    sumpool.data.prepare._SMALL_BYTES = int(sys.argv[3])
    settings, folder = config(Path(sys.argv[1])), Path(sys.argv[2])
    report = lambda step: print(step.task, flush=True)
    find_or_prepare(settings, folder, skip_bad_rows=False, report=report, check=lambda: None)
"""


def prepare_elsewhere(path: Path, folder: Path, small_bytes: int) -> "subprocess.Popen[bytes]":
    """Prepare data in another process, which writes a line for each step."""
    environment = {"PYTHONPATH": f"{Path.cwd()}:{Path(__file__).parent}", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", PROGRAM, str(path), str(folder), str(small_bytes)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE)


@pytest.mark.slow
def test_killed_run_leaves_no_complete_folder(tmp_path: Path) -> None:
    path, folder = tmp_path / "data", tmp_path / "prepared"
    settings = write(path, [example(number, "train") for number in range(400)])
    for lines in (1, 21, 23):  # while rows are read, while the vocabulary is trained, while shards are written
        with prepare_elsewhere(path, folder, 0) as process:
            assert process.stdout is not None
            assert all(process.stdout.readline() for _ in range(lines))
            process.kill()
        assert not folder.exists() or find_prepared(settings, folder, no_op) == folder
    report, _ = run(settings, folder)
    assert report.kept == 400
    assert find_prepared(settings, folder, no_op) == folder
    assert not (tmp_path / ".tmp-prepared").exists()


@pytest.mark.slow
def test_concurrent_run_waits(tmp_path: Path) -> None:
    path, folder = tmp_path / "data", tmp_path / "prepared"
    settings = write(path, [example(number, "train") for number in range(200)])
    with prepare_elsewhere(path, folder, 1_000_000) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        _, reports = run(settings, folder)
        assert [report.note for report in reports] == [f"waiting for process {process.pid}, which is writing {folder}"]
    assert process.returncode == 0


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
    assert DataReport.load(tmp_path / "data").language == language


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
