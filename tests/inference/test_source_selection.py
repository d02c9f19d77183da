import shutil
from pathlib import Path

import pytest

from sumpool.documents.document import Document
from sumpool.inference.loading import LoadedModel, load_model
from sumpool.inference.pipeline import Pipeline
from sumpool.progress import Progress
from sumpool.ranking.fit import Fitting, fit_ranker
from sumpool.text.tokenizer import encode_document
from tests.conftest import story
from tests.inference.test_model_input import read_by_model
from tests.ranking.planted import example

LONG = Document("long", story(1, 120))


@pytest.fixture(scope="module")
def loaded(run_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    """A model with a ranker that reads 200 tokens."""
    folder = Path(shutil.copytree(run_folder, tmp_path_factory.mktemp("runs") / "run"))
    loaded = load_model(folder, ["summarize.on_overflow=select", "summarize.beams=1"])
    fit_ranker([example(seed) for seed in range(20)], Fitting(min_documents=2)).save(folder)
    return loaded


def test_the_best_sentences_fill_the_input_in_their_order(loaded: LoadedModel) -> None:
    reading, read, item = read_by_model(loaded, LONG)
    indices = read.indices
    assert list(indices) == sorted(set(indices))
    assert indices != tuple(range(len(indices)))
    assert 170 < len(item.ids) == read.tokens_read <= 200 < read.tokens_total
    assert item.sentences.max() == len(indices) - 1
    for number, index in enumerate(indices):
        ids = [int(token) for token in item.ids[item.sentences == number]]
        assert " ".join(loaded.tokenizer.decode(ids).split()) == reading.sentences[index].text


def test_what_the_ranker_has_read_needs_no_note(loaded: LoadedModel) -> None:
    notes: list[Progress] = []
    (summary,) = Pipeline.of(loaded).summarize([LONG], report=notes.append)
    assert summary.summary
    assert summary.tokens_read < summary.tokens_total
    assert not any(progress.note for progress in notes)


def test_short_documents_are_read_whole(loaded: LoadedModel) -> None:
    short = Document("short", story(2, 6))
    _, _, item = read_by_model(loaded, short)
    assert item.ids.tolist() == encode_document(short.text, loaded.tokenizer, loaded.splitter).ids.tolist()


def test_of_sentences_that_never_fit_the_beginning_is_read(loaded: LoadedModel) -> None:
    endless = Document("endless", "river " * 500)  # a text without the words that begin sentences
    _, read, item = read_by_model(loaded, endless)
    whole = encode_document(endless.text, loaded.tokenizer, loaded.splitter)
    assert item.ids.tolist() == whole.ids[:200].tolist()
    assert (read.indices, read.is_selection) == ((0,), False)
    assert read.note.startswith(f"read 200 of {len(whole.ids):,} tokens")
