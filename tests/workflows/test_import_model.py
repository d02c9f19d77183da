"""Models of transformers become run folders that summarise, evaluate and are trained on."""

import json
import shutil
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, BartTokenizer, GenerationConfig

from sumpool.core.decoding.beam import search
from sumpool.core.decoding.config import Lengths, Ranking
from sumpool.core.decoding.constraints import NoRepeatTokens, Rules
from sumpool.data.batches import collate
from sumpool.documents.document import Document
from sumpool.errors import CheckpointError, Interrupted, RecipeError
from sumpool.inference.loading import LoadedModel, load_for_generation, load_model
from sumpool.inference.pipeline import Pipeline
from sumpool.io.manifest import Manifest
from sumpool.pretrained.config import ImportOptions
from sumpool.progress import Progress, Report, no_op
from sumpool.recipe.load import load_recipe
from sumpool.runs.model_card import CARD
from sumpool.tasks.summarization.evaluate import evaluate_systems
from sumpool.workflows import import_model as workflow
from sumpool.workflows.import_model import import_model
from sumpool.workflows.train import train
from tests.cli.conftest import run
from tests.conftest import BARE, Stop, story
from tests.pretrained.originals import Theirs, both, random_model
from tests.text.bart import BOS, EOS, PAD, UNK, learn
from tests.text.unigram import CLASSES, TARGET_LANGUAGE, learn_unigram, train_pieces

GENERATION = {
    "num_beams": 4,
    "length_penalty": 2.0,
    "no_repeat_ngram_size": 3,
    "min_length": 5,
    "max_length": 18,
    "early_stopping": True,
    "forced_bos_token_id": BOS,
    "forced_eos_token_id": EOS,
    "decoder_start_token_id": EOS,
    "bos_token_id": BOS,
    "pad_token_id": PAD,
    "eos_token_id": EOS,
}


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the tokenizer of a BART."""
    return learn([story(number, 20) for number in range(20)], tmp_path_factory.mktemp("vocabulary"))


def save(model: Theirs, vocabulary: Path, folder: Path) -> Path:
    """Save a model with its tokenizer."""
    model.save_pretrained(folder)
    for path in vocabulary.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    return folder


def size(vocabulary: Path) -> int:
    return len(json.loads((vocabulary / "vocab.json").read_text()))


def flat_bart(seed: int, vocabulary: Path, **generation: object) -> Theirs:
    """A BART with flat distributions and generation settings."""
    sizes = {"vocab_size": size(vocabulary), "max_position_embeddings": 128, **both(layers=1)}
    model = flatten(random_model("bart", seed, **sizes))
    model.generation_config = GenerationConfig(**{**GENERATION, **generation})
    return model


def flat_led(seed: int, vocabulary: Path, **generation: object) -> Theirs:
    """An LED with flat distributions and generation settings."""
    sizes = {"vocab_size": size(vocabulary), "max_encoder_position_embeddings": 256, "attention_window": 8}
    model = flatten(random_model("led", seed, **sizes, **both(layers=1)))
    model.generation_config = GenerationConfig(**{**GENERATION, **generation})
    return model


def flatten(model: Theirs, suppressed: tuple[int, int] = (PAD, UNK), eos: int = EOS) -> Theirs:
    """Suppress the tokens that our searches suppress, and flatten the distribution, so that beams differ in length."""
    decoder = model.get_decoder()
    with torch.no_grad():
        getattr(decoder, "layer_norm", decoder.layers[-1].final_layer_norm).weight *= 0.4
    model.final_logits_bias[:, suppressed] = -torch.inf
    model.final_logits_bias[:, eos] = 4.0
    return model


@pytest.fixture(scope="module")
def unigrams(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders with the tokenizers of PEGASUS, mBART, mBART-50 and Marian."""
    texts = [story(number, 20) for number in range(20)]
    return {kind: learn_unigram(texts, tmp_path_factory.mktemp(kind), kind) for kind in CLASSES}


def flat_unigram(kind: str, seed: int, vocabulary: Path, **generation: object) -> tuple[Theirs, Any]:
    """A model with flat distributions and the generation settings of its family, and its tokenizer."""
    tokenizer = CLASSES[kind].from_pretrained(vocabulary)
    pad, eos, target = tokenizer.pad_token_id, tokenizer.eos_token_id, tokenizer.convert_tokens_to_ids(TARGET_LANGUAGE)
    start = {"mbart": target, "mbart50": eos}.get(kind, pad)
    special = {"pad_token_id": pad, "eos_token_id": eos, "decoder_start_token_id": start, "forced_eos_token_id": eos}
    sizes = {"vocab_size": len(tokenizer), "max_position_embeddings": 256, **both(layers=1)}
    model = random_model(kind.removesuffix("50"), seed, **sizes, **special)
    forced = {"forced_bos_token_id": target if kind == "mbart50" else None, "bos_token_id": None}
    model.generation_config = GenerationConfig(**{**GENERATION, **special, **forced, **generation})
    return flatten(model, (pad, tokenizer.unk_token_id), eos), tokenizer


@pytest.fixture(scope="module")
def bart(vocabulary: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Hugging Face folder; tests that change it make a copy."""
    return save(flat_bart(1, vocabulary), vocabulary, tmp_path_factory.mktemp("hub") / "tiny-bart")


def changed(folder: Path, place: Path, name: str, content: bytes | dict[str, Any]) -> str:
    """A copy of a folder, in a new one, in which a file has other content, or other settings besides its own."""
    copy = Path(shutil.copytree(folder, Path(mkdtemp(dir=place)) / "changed"))
    if isinstance(content, dict):
        content = json.dumps({**json.loads((copy / name).read_text()), **content}).encode()
    (copy / name).write_bytes(content)
    return str(copy)


def search_best(loaded: LoadedModel, texts: list[str]) -> list[tuple[int, ...]]:
    """Best hypotheses with the settings of the imported recipe."""
    config = loaded.recipe.summarize
    pipeline = Pipeline.of(loaded)
    items = [read.item for text in texts if (read := pipeline.read(Document("a", text)).input) and read.item]
    batch = collate(items, loaded.recipe.model.source_length, loaded.recipe.model.target_length)
    with torch.inference_mode():
        memory = loaded.model.encode(batch.ids, batch.mask, batch.sentences)
        hypotheses = search(
            loaded.model.step,
            loaded.model.start(memory, config.beams),
            [loaded.lengths] * len(texts),
            Ranking(
                config.beams, config.length_penalty, config.length_formula, config.early_stopping, config.force_end
            ),
            Rules(
                config.begin_with,
                [NoRepeatTokens(config.no_repeat_tokens)] if config.no_repeat_tokens else [],
                loaded.model.special_tokens,
            ),
        )
    return [best.tokens for best, *_ in hypotheses]


def compare(theirs: Theirs, loaded: LoadedModel, seed: int, tokenizer: Any) -> None:  # noqa: ANN401
    """Assert that both generate the same tokens and the same text for five documents."""
    texts = [story(5 * seed + number, 6 + number).replace("\n\n", " ") for number in range(5)]
    pad, eos = tokenizer.pad_token_id, tokenizer.eos_token_id
    read = tokenizer(texts, padding=True, return_tensors="pt")
    first = {}
    if theirs.config.model_type == "led":
        first["global_attention_mask"] = torch.zeros_like(read.input_ids).index_fill(1, torch.tensor(0), 1)
    expected = theirs.generate(input_ids=read.input_ids, attention_mask=read.attention_mask, **first)
    rows = [tuple(takewhile(lambda token: token not in (pad, eos), row[1:])) for row in expected.tolist()]
    assert search_best(loaded, texts) == rows
    said = tokenizer.batch_decode(expected, skip_special_tokens=True, clean_up_tokenization_spaces=False)
    summaries = Pipeline.of(loaded).summarize([Document(text, text) for text in texts])
    assert [summary.text for summary in summaries] == [text.strip() for text in said]


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"num_beams": 1, "length_penalty": 1.0, "early_stopping": False, "forced_bos_token_id": None},
        {"num_beams": 3, "forced_eos_token_id": None, "early_stopping": False, "length_penalty": 0.6},
        {"num_beams": 5, "max_length": None, "max_new_tokens": 9, "min_new_tokens": 3, "early_stopping": False},
    ],
)
def test_summaries_are_those_of_generate(vocabulary: Path, tmp_path: Path, settings: dict[str, object]) -> None:
    theirs = flat_bart(30, vocabulary, **settings)
    run = import_model(str(save(theirs, vocabulary, tmp_path / "bart")), tmp_path / "run")
    compare(theirs, load_for_generation(run), 30, BartTokenizer.from_pretrained(vocabulary))


@pytest.mark.parametrize("kind", CLASSES)
def test_summaries_of_unigrams_are_those_of_generate(kind: str, unigrams: dict[str, Path], tmp_path: Path) -> None:
    theirs, tokenizer = flat_unigram(kind, 0, unigrams[kind])
    run = import_model(str(save(theirs, unigrams[kind], tmp_path / kind)), tmp_path / "run")
    compare(theirs, load_for_generation(run), 0, tokenizer)


def test_summaries_of_led_are_those_of_generate(vocabulary: Path, tmp_path: Path) -> None:
    theirs = flat_led(0, vocabulary)
    run = import_model(str(save(theirs, vocabulary, tmp_path / "led")), tmp_path / "run")
    compare(theirs, load_for_generation(run), 0, BartTokenizer.from_pretrained(vocabulary))


def test_an_import_is_a_complete_run_folder(bart: Path, tmp_path: Path) -> None:
    heard: list[Progress] = []
    run = import_model(str(bart), tmp_path / "runs" / "bart", report=heard.append)
    assert heard == []  # nothing is otherwise than in the original
    assert sorted(path.name for path in run.parent.iterdir()) == ["bart"]
    names = ["README.md", "manifest.json", "model.safetensors", "recipe.yaml"]
    names += ["tokenizer.json", "vocabulary.json"]
    assert sorted(path.name for path in run.iterdir()) == names
    manifest = Manifest.read(run)
    manifest.verify(run, [name for name in names if name not in ("README.md", "manifest.json")])
    assert manifest.facts["imported"] == str(bart)
    loaded = load_model(run)
    assert (loaded.recipe.name, loaded.recipe.data.source) == ("tiny-bart", None)
    assert loaded.recipe.summarize.precision == "fp32"
    assert loaded.lengths == Lengths(4, 16)
    assert loaded.model.vocabulary == size(bart)
    card = (run / "README.md").read_text()
    assert f"imported from {bart} with sumpool" in card
    assert "## Differences from the original\n\nNone.\n" in card


def test_differences_from_the_original_are_reported(vocabulary: Path, tmp_path: Path) -> None:
    theirs = flat_bart(2, vocabulary, repetition_penalty=1.5, max_length=None)
    folder = save(theirs, vocabulary, tmp_path / "bart")
    heard: list[Progress] = []
    run = import_model(
        str(folder), tmp_path / "run", ImportOptions("sliding_window", 16, 300, "flip"), report=heard.append
    )
    notes = [
        "Encoder attention is sliding_window over 16 tokens, with the original's weights.",
        "Input length is 300 tokens: the 128 learned positions are followed by copies, every second one reversed.",
        "The original does not limit the length of summaries; set summarize.max_length.",
        "Unsupported generation settings are ignored: repetition_penalty.",
    ]
    assert [progress.note for progress in heard] == notes
    assert all(f"- {note}\n" in (run / "README.md").read_text() for note in notes)
    assert load_model(run).recipe.model.source_length == 300


def test_led_with_fewer_positions_and_other_windows(vocabulary: Path, tmp_path: Path) -> None:
    folder = save(flat_led(3, vocabulary, early_stopping="never"), vocabulary, tmp_path / "led")
    heard: list[Progress] = []
    changes = ImportOptions("sliding_window", 12, 150)
    run = import_model(str(folder), tmp_path / "run", changes, report=heard.append)
    loaded = load_model(run, ["summarize.on_overflow=truncate"])
    assert [progress.note for progress in heard] == [
        "Encoder attention is sliding_window over 12 tokens, with the original's weights.",
        "The first token of a document attends globally, as it does in transformers on request.",
        "Input length is 150 tokens: the last 106 learned positions are dropped.",
        "Searches end as with early_stopping = never, but an EOS forced by the maximum length is not free.",
    ]
    short, long = Pipeline.of(loaded).summarize([Document("a", story(1, 12)), Document("b", story(2, 50))])
    assert short.text
    assert long.tokens_read == 150


def test_a_tokenizer_may_have_a_mask_token_without_a_row(vocabulary: Path, tmp_path: Path) -> None:
    """As with bart-large-cnn, whose rows end before <mask>."""
    rows = size(vocabulary) - 1
    folder = save(random_model("bart", 4, vocab_size=rows), vocabulary, tmp_path / "bart")
    numbers = json.loads((vocabulary / "vocab.json").read_text())
    last = {
        name: rows if name == "<mask>" else number - (number > numbers["<mask>"]) for name, number in numbers.items()
    }
    (folder / "vocab.json").write_text(json.dumps(last))
    assert load_model(import_model(str(folder), tmp_path / "run")).model.vocabulary == rows


def train_still(run: Path, rows: Path, place: Path, parts: Sequence[str] = (), report: Report = no_op) -> Path:
    """Train an imported model with a learning rate so small that its weights stay."""
    data = f"{{source: {{kind: jsonl, path: {rows}/rows.jsonl}}, tokenizer: {run}, prepared: {place}/data}}"
    still = f"{{steps: 2, learning_rate: 1e-30, weight_decay: 0, init_from: {run}}}"
    recipe = load_recipe(run, [f"data={data}", f"train={still}", *BARE, *parts])
    folder = train(recipe, place / "next", report=report)
    before, after = (load_file(path / "model.safetensors") for path in (run, folder))
    assert all(torch.equal(after[name], weights) for name, weights in before.items())
    return folder


SENTENCES = "model.decoder.cross_attention={kind: sentence, sentences: 2, selection: {kind: approximate}}"


@pytest.mark.parametrize(
    "parts", [["model.encoder[0].pool={kind: halving, keep: 16}"], [SENTENCES, "train.loss_weights={selection: 0.1}"]]
)
def test_imported_models_can_be_trained(bart: Path, trained: Path, tmp_path: Path, parts: list[str]) -> None:
    run = import_model(str(bart), tmp_path / "bart", ImportOptions("sliding_window", 8))
    heard: list[Progress] = []
    folder = train_still(run, trained, tmp_path, parts, heard.append)
    assert any(f"began with the weights of {run}; fresh: " in progress.note for progress in heard)
    assert (folder / "tokenizer.json").read_bytes() == (run / "tokenizer.json").read_bytes()
    report = evaluate_systems([run], overrides=[f"data.prepared={tmp_path}/data", "evaluate.resamples=100"], limit=1)
    assert report.documents == 1


def test_imported_unigram_models_can_be_trained(unigrams: dict[str, Path], trained: Path, tmp_path: Path) -> None:
    theirs, tokenizer = flat_unigram("mbart", 6, unigrams["mbart"])
    theirs.final_logits_bias[:, tokenizer.unk_token_id] = 0.0  # the vocabulary lacks letters of the references
    folder = save(theirs, unigrams["mbart"], tmp_path / "mbart")
    run = import_model(str(folder), tmp_path / "run", ImportOptions(positions=20))
    loaded = load_model(train_still(run, trained, tmp_path), ["summarize.on_overflow=truncate"])
    suffix = loaded.tokenizer.special_tokens.suffix
    read = Pipeline.of(loaded).read(Document("a", story(1, 12))).input
    assert read
    assert read.item
    ids = read.item.ids
    assert (len(ids), tuple(ids[-len(suffix) :])) == (20, tuple(tokenizer("").input_ids))


@pytest.mark.parametrize(("positions", "note"), [(300, "are followed by more of them"), (100, "are dropped")])
def test_sinusoidal_positions_continue(unigrams: dict[str, Path], tmp_path: Path, positions: int, note: str) -> None:
    theirs, tokenizer = flat_unigram("pegasus", 3, unigrams["pegasus"])
    folder = save(theirs, unigrams["pegasus"], tmp_path / "pegasus")
    heard: list[Progress] = []
    run = import_model(str(folder), tmp_path / "run", ImportOptions(positions=positions), report=heard.append)
    (difference,) = [progress.note for progress in heard]
    assert difference.startswith(f"Input length is {positions} tokens: the ")
    assert difference.endswith(f"sinusoidal positions {note}.")
    compare(theirs, load_for_generation(run), 0, tokenizer)


def test_a_sentencepiece_model_is_imported_after_the_conversion_that_the_refusal_names(tmp_path: Path) -> None:
    pieces = train_pieces([story(number, 20) for number in range(20)], tmp_path / "old", "spiece.model")
    theirs, tokenizer = flat_unigram("pegasus", 4, pieces)
    theirs.save_pretrained(pieces)
    with pytest.raises(
        CheckpointError, match=r"old must have tokenizer\.json, got spiece\.model; save the model again"
    ):
        import_model(str(pieces), tmp_path / "run")
    AutoModelForSeq2SeqLM.from_pretrained(pieces).save_pretrained(tmp_path / "new")
    AutoTokenizer.from_pretrained(pieces).save_pretrained(tmp_path / "new")
    run = import_model(str(tmp_path / "new"), tmp_path / "run")
    compare(theirs, load_for_generation(run), 4, tokenizer)


def test_positions_that_no_file_vouches_for_are_limited(unigrams: dict[str, Path], tmp_path: Path) -> None:
    theirs, _ = flat_unigram("marian", 5, unigrams["marian"])
    folder = save(theirs, unigrams["marian"], tmp_path / "marian")
    longer = changed(folder, tmp_path, "config.json", {"max_position_embeddings": 10**6})
    with pytest.raises(
        CheckpointError, match=r"max_position_embeddings must be at most 131,072 .*, got 1,000,000; cor"
    ):
        import_model(longer, tmp_path / "run")


def test_a_signal_leaves_nothing(bart: Path, tmp_path: Path) -> None:
    with pytest.raises(Interrupted, match="stopped by SIGTERM; nothing was imported"):
        import_model(str(bart), tmp_path / "out", check=Stop(1))
    assert not (tmp_path / "out").exists()


def test_sizes_are_compared_with_the_weights_before_anything_is_made(bart: Path, tmp_path: Path) -> None:
    for changes, sentence in (
        ({"vocab_size": 10**7}, r"shared\.weight must be \(10000000, 16\), as config\.json has it, got"),
        ({"encoder_layers": 10**6}, r"must hold the tensor encoder\.layers\.1\.self_attn\.q_proj\.weight .* missing"),
        ({"decoder_layers": 10**6}, r"must hold the tensor decoder\.layers\.1\.self_attn\.q_proj\.weight .* missing"),
        ({"max_position_embeddings": 10**9}, r"embed_positions\.weight must be \(1000000002, 16\), as config"),
        ({"encoder_ffn_dim": 10**9, "decoder_ffn_dim": 10**9}, r"fc1\.weight must be \(1000000000, 16\), as config"),
        ({"d_model": 10**400}, r"shared\.weight must be"),
    ):
        with pytest.raises(CheckpointError, match=sentence):
            import_model(changed(bart, tmp_path, "config.json", changes), tmp_path / "out")


def test_files_that_do_not_fit_or_are_hostile_are_refused(bart: Path, tmp_path: Path) -> None:
    for name, content, sentence in (
        (
            "generation_config.json",
            {"length_penalty": -1.0},
            r"changed must generate as sumpool can: length_penalty must",
        ),
        ("config.json", b"[" * 100_000, r"config\.json must be JSON, got: more than 64 levels"),
        ("generation_config.json", b'{"a":' * 100_000, r"generation_config\.json must be JSON, got: more than 64"),
        ("vocab.json", b"{" * 100_000, r"must hold byte-level BPE .*more than 64 levels of brackets"),
        ("tokenizer.json", b"{" * 100_000, r"must hold byte-level BPE .*more than 64 levels of brackets"),
        ("tokenizer.json", b'{"model": {"vocab": {"a": "0"}}}', r"the token 'a' with the id '0'"),
        ("tokenizer.json", b'{"model": {"vocab": {"a": 1.0}}}', r"the token 'a' with the id 1\.0"),
        ("tokenizer.json", b'{"model": {"vocab": {"a": 99999999}}}', r"the token 'a' with the id 99999999"),
        ("tokenizer.json", b'{"model": {"vocab": {"a": 0, "b": 0}}}', r"the tokens 'a' and 'b' with one id, 0"),
        ("tokenizer.json", b'{"model": {"vocab": {"\\ud800": 0}}}', "surrogates not allowed"),
        ("tokenizer.json", b'{"model": {"vocab": {}}, "added_tokens": [1]}', "must hold byte-level BPE"),
        ("vocab.json", b'{"a": 0, "b": 0}', r"the tokens 'a' and 'b' with one id, 0"),
        ("added_tokens.json", b'{"one": 0}', r"the tokens .* with one id, 0"),
    ):
        with pytest.raises(CheckpointError, match=sentence):
            import_model(changed(bart, tmp_path, name, content), tmp_path / "out")


def test_configurations_that_do_not_fit_the_tokenizer_are_refused(bart: Path, tmp_path: Path) -> None:
    for changes, sentence in (
        ({"pad_token_id": 4}, r"pad_token_id must be as in the tokenizer beside it, 1, got 4"),
        ({"eos_token_id": 5, "forced_eos_token_id": 5}, r"eos_token_id must be as in the tokenizer"),
    ):
        folder = changed(bart, tmp_path, "config.json", changes)
        Path(folder, "generation_config.json").unlink()
        with pytest.raises(CheckpointError, match=sentence):
            import_model(folder, tmp_path / "out")


def test_names_are_downloaded_from_the_hub(bart: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workflow, "fetch", lambda name, report: bart)  # noqa: ARG005
    run = import_model("somebody/model", tmp_path / "out")
    assert load_recipe(run).name == "model"
    assert "imported from somebody/model on the Hugging Face hub, revision tiny-bart with" in (run / CARD).read_text()
    for path in ("./nowhere", "/a/b", "a/b/c", str(bart / "config.json")):
        with pytest.raises(CheckpointError, match=r"must be a folder with config\.json, but there is no such folder"):
            import_model(path, tmp_path / "other")


def test_a_bad_name_is_refused(bart: Path, tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=r"--name must be text that matches .*, got 'a b'"):
        import_model(str(bart), tmp_path / "out", name="a b")
    assert load_recipe(import_model(str(bart), tmp_path / "out", name="mine")).name == "mine"


def test_the_command_prints_the_folder(bart: Path, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    result = run("import", str(bart), out, "--attention", "sliding_window", "--window", "8")
    assert (result.exit_code, result.stdout) == (0, f"{out}\n"), result.output
    assert f"next: sumpool summarize --model {out} doc.txt" in result.stderr
    attention = load_recipe(Path(out)).model.encoder[0].attention
    assert attention.model_dump(include={"kind", "window"}) == {"kind": "sliding_window", "window": 8}
