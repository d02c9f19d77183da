"""An imported model that is exported again is the original, for transformers and for sumpool."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

from sumpool.errors import CheckpointError
from sumpool.inference.loading import load_for_generation, load_model
from sumpool.pretrained.config import ImportOptions
from sumpool.pretrained.save import save_pretrained
from sumpool.text.hf_tokenizer import HuggingFaceTokenizer
from sumpool.training.weights import weights_of
from sumpool.workflows.export_model import export_model
from sumpool.workflows.import_model import import_model
from tests.conftest import story
from tests.text.bart import learn
from tests.text.unigram import learn_unigram
from tests.workflows.test_import_model import flat_bart, flat_led, flat_unigram, save, search_best

FAMILIES = ["bart", "led", "mbart", "pegasus", "marian"]
TEXTS = [story(number, 20) for number in range(20)]


@pytest.fixture(scope="module", params=FAMILIES)
def original(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    family, folder = request.param, tmp_path_factory.mktemp("hub")
    if family in ("mbart", "pegasus", "marian"):
        vocabulary = learn_unigram(TEXTS, folder / "vocabulary", family)
        return save(flat_unigram(family, 2, vocabulary)[0], vocabulary, folder / family)
    vocabulary = learn(TEXTS, folder / "vocabulary")
    flat = flat_led if family == "led" else flat_bart
    return save(flat(2, vocabulary), vocabulary, folder / family)


def test_transformers_reads_the_same_model(original: Path, tmp_path: Path) -> None:
    run = import_model(str(original), tmp_path / "run")
    folder = export_model(run, tmp_path / "again", format_="huggingface")
    assert json.loads((folder / "config.json").read_text())["model_type"] == original.name
    theirs, again = (AutoModelForSeq2SeqLM.from_pretrained(path).eval() for path in (original, folder))
    assert type(again) is type(theirs)
    for name, tensor in theirs.state_dict().items():
        start = 2 if "embed_positions" in name and original.name in ("bart", "mbart") else 0
        assert torch.equal(tensor[start:], again.state_dict()[name][start:]), name
    tokenizer, tokenizer_again = (AutoTokenizer.from_pretrained(path) for path in (original, folder))
    texts = [story(30 + number, 6 + number).replace("\n\n", " ") for number in range(5)]
    read = tokenizer_again(texts, padding=True, return_tensors="pt")
    assert read.input_ids.tolist() == tokenizer(texts, padding=True, return_tensors="pt").input_ids.tolist()
    first = {}
    if original.name == "led":
        first["global_attention_mask"] = torch.zeros_like(read.input_ids).index_fill(1, torch.tensor(0), 1)
    inputs = {"input_ids": read.input_ids, "attention_mask": read.attention_mask, **first}
    written = again.generate(**inputs).tolist()
    assert written == theirs.generate(**inputs).tolist()
    ours = search_best(load_for_generation(run), texts)
    assert [tokenizer.decode(row, skip_special_tokens=True).strip() for row in written] == [
        load_model(run).tokenizer.decode(row).strip() for row in ours
    ]


def test_the_import_of_an_export_is_the_same_run(original: Path, tmp_path: Path) -> None:
    run = import_model(str(original), tmp_path / "run")
    again = import_model(
        str(export_model(run, tmp_path / "exported", format_="huggingface")), tmp_path / "again", name=original.name
    )
    first, second = (load_model(path) for path in (run, again))
    assert first.recipe.model == second.recipe.model
    assert first.recipe.summarize == second.recipe.summarize
    saved = weights_of(second.model)
    assert all(torch.equal(tensor, saved[name]) for name, tensor in weights_of(first.model).items())
    assert first.tokenizer.token_bytes() == second.tokenizer.token_bytes()
    assert first.tokenizer.special_tokens == second.tokenizer.special_tokens
    assert "ignored" not in (again / "README.md").read_text()


def test_weights_may_be_rounded_and_the_card_says_what_is_missing(original: Path, tmp_path: Path) -> None:
    run = import_model(str(original), tmp_path / "run")
    folder = export_model(run, tmp_path / "half", "bf16", "huggingface")
    assert {parameter.dtype for parameter in AutoModelForSeq2SeqLM.from_pretrained(folder).parameters()} == {
        torch.bfloat16
    }
    card = (folder / "README.md").read_text()
    assert card.startswith("---\nlibrary_name: transformers\npipeline_tag: summarization\n---\n")
    assert "- on_overflow: select" in card
    assert {path.stat().st_mode & 0o044 for path in folder.iterdir()} == {0o044}, "all may read what one exported"
    assert ("global_attention_mask" in card) == (original.name == "led")


def test_a_search_stops_as_that_of_the_run(original: Path, tmp_path: Path) -> None:
    run = import_model(str(original), tmp_path / "run")
    for formula, early, expected in (
        ("sumpool", "true", True),
        ("sumpool", "false", "never"),
        ("transformers", "true", True),
        ("transformers", "false", False),
    ):
        loaded = load_model(run, [f"summarize.length_formula={formula}", f"summarize.early_stopping={early}"])
        assert isinstance(loaded.tokenizer, HuggingFaceTokenizer)
        save_pretrained(tmp_path, loaded.model, loaded.recipe.summarize, loaded.lengths, loaded.tokenizer)
        assert json.loads((tmp_path / "generation_config.json").read_text())["early_stopping"] == expected


def test_a_model_of_no_family_is_refused(original: Path, run_folder: Path, tmp_path: Path) -> None:
    if original.name == "bart":
        learnt = Path(shutil.copytree(run_folder, tmp_path / "learnt"))
        (learnt / "README.md").write_text("# random\n")
        with pytest.raises(CheckpointError, match=r"a tokenizer of Hugging Face, got a learnt one in .*learnt; export"):
            export_model(learnt, tmp_path / "out", format_="huggingface")
    run = import_model(str(original), tmp_path / "run", ImportOptions("sliding_window", 6))
    if original.name == "led":
        assert export_model(run, tmp_path / "out", format_="huggingface")
        return
    with pytest.raises(CheckpointError, match=r"the structure of bart, .*, got (pre|post)-norm, .* sliding_window"):
        export_model(run, tmp_path / "out", format_="huggingface")
    assert not (tmp_path / "out").exists()
