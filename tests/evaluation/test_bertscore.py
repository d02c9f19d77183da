from dataclasses import astuple
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertModel, BertTokenizer

from sumpool.errors import RecipeError
from sumpool.evaluation import bertscore
from sumpool.evaluation.bertscore import BertScorer
from sumpool.evaluation.rouge import Score

WORDS = ["hosts", "send", "routers", "drop", "packets", "a", "gateway", "data", "##gram", "##s", ",", "."]
TEXTS = [
    "hosts send datagrams",
    "routers drop packets . hosts send a datagram , packets drop",
    "a",
    "unknown words only",
    "hosts " * 60,
]
REFERENCE = "Hosts send datagrams to a gateway ."


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random BERT of two layers."""
    path = tmp_path_factory.mktemp("bert") / "tiny-bert"
    torch.manual_seed(1)
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=16,
        num_hidden_layers=4,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=40,
        initializer_range=0.5,
    )
    BertModel(config).save_pretrained(path)
    (path / "vocab.txt").write_text("\n".join(vocabulary))
    BertTokenizer(vocab=str(path / "vocab.txt")).save_pretrained(path)
    return path


def naive(folder: Path, summary: str, reference: str, layer: int) -> tuple[float, float, float]:
    """BERTScore of one pair, token by token, in float64 and without padding."""
    tokenizer = BertTokenizer.from_pretrained(folder)
    model = BertModel.from_pretrained(folder).double().eval()
    vectors = []
    for text in (summary, reference):
        ids = tokenizer(text, truncation=True, max_length=40)["input_ids"]
        with torch.no_grad():
            states = model(torch.tensor([ids]), output_hidden_states=True).hidden_states[layer][0]
        vectors.append([state.numpy() / np.linalg.norm(state.numpy()) for state in states])
    one, two = vectors
    precision = float(np.mean([max(float(token @ other) for other in two) for token in one[1:-1]]))
    recall = float(np.mean([max(float(token @ other) for other in one) for token in two[1:-1]]))
    return precision, recall, 2 * precision * recall / (precision + recall)


@pytest.mark.parametrize("layer", [1, 3, 4])
def test_bertscore_equals_a_naive_implementation(folder: Path, layer: int) -> None:
    scores = BertScorer(folder, layer).score(TEXTS, REFERENCE)
    for text, score in zip(TEXTS, scores, strict=True):
        assert astuple(score) == pytest.approx(naive(folder, text, REFERENCE, layer), abs=1e-5)
    assert len({round(score.f1, 3) for score in scores}) == len(TEXTS)
    assert abs(scores[1].precision - scores[1].recall) > 0.001


def test_a_text_scores_one_against_itself_and_zero_without_tokens(folder: Path) -> None:
    scorer = BertScorer(folder)
    same, empty = scorer.score([REFERENCE, " "], REFERENCE)
    assert same.f1 == pytest.approx(1.0, abs=1e-6)
    assert empty == Score(0.0, 0.0, 0.0)
    assert scorer.score([REFERENCE], "") == [Score(0.0, 0.0, 0.0)]


def test_the_default_layer_is_at_three_quarters(folder: Path) -> None:
    assert BertScorer(folder).signature == "BERTScore F1 of tiny-bert, layer 3 of 4, no idf, no rescaling"
    with pytest.raises(RecipeError, match=r"evaluate\.bertscore_layer must be at most 4 for .*tiny-bert, got 5"):
        BertScorer(folder, 5)


def test_a_missing_model_is_named(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RecipeError, match=r"bertscore_model must be the folder of a model of transformers, with conf"):
        BertScorer(tmp_path)
    (tmp_path / "config.json").write_text((folder / "config.json").read_text())
    with pytest.raises(RecipeError, match="must be the folder of a model of transformers that can be loaded, got"):
        BertScorer(tmp_path)
    monkeypatch.setattr(bertscore, "find_spec", lambda _: None)
    with pytest.raises(RecipeError, match=r"BERTScore must have transformers, .* pip install 'sumpool\[peers\]'"):
        BertScorer(folder)
