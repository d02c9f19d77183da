"""Arbitrary bytes under the name of every file that is read: errors are those that a user can fix."""

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sumpool.data.report import DataReport
from sumpool.documents.read import read_documents
from sumpool.errors import SumpoolError
from sumpool.io.bounded import parse_json
from sumpool.io.manifest import Manifest
from sumpool.pretrained.config import read_config
from sumpool.ranking.ranker import Ranker
from sumpool.recipe.load import load_recipe
from sumpool.text.sentencepiece_tokenizer import SentencePieceTokenizer
from sumpool.training.weights import load_tensors

LOADERS: dict[str, Callable[[Path], object]] = {
    "manifest.json": lambda path: Manifest.read(path.parent),
    "report.json": lambda path: DataReport.load(path.parent),
    "ranker.safetensors": lambda path: Ranker.load(path.parent),
    "tokenizer.model": SentencePieceTokenizer.load,
    "model.safetensors": load_tensors,
    "config.json": lambda path: read_config(path.parent),
    "recipe.yaml": load_recipe,
    "document.jsonl": lambda path: list(read_documents(str(path))),
    "document": lambda path: list(read_documents(str(path))),
}
CONTENTS = st.one_of(
    st.binary(max_size=200),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=9),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=9), inner),
        max_leaves=9,
    ).map(lambda tree: json.dumps(tree).encode()),
    st.binary(max_size=80).map(lambda header: len(header).to_bytes(8, "little") + header),
)


@pytest.mark.parametrize("name", list(LOADERS))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(content=CONTENTS)
def test_arbitrary_bytes_lead_to_errors_of_the_package(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with suppress(SumpoolError):
        LOADERS[name](tmp_path / name)


@given(content=CONTENTS)
def test_arbitrary_bytes_lead_to_value_errors(content: bytes) -> None:
    with suppress(ValueError):
        parse_json(content)
