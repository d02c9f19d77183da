from pathlib import Path

import pytest

from sumpool.errors import DataError, RecipeError
from sumpool.studies.attention_map import draw_attention_map

TEXT = "The server sends a packet to the router. The router drops it. " * 5


def test_every_layer_and_head_is_drawn(run_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "doc.txt").write_text(TEXT)
    maps = draw_attention_map(run_folder, str(tmp_path / "doc.txt"), tmp_path / "map.png")
    assert (tmp_path / "map.png").read_bytes()[:4] == b"\x89PNG"
    for weights in maps:
        assert weights.size(1) == weights.size(2) > 8
        assert float((weights.sum(-1) - 1).abs().max()) < 1e-4


def test_what_cannot_be_drawn_is_a_sentence(run_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RecipeError, match=r"--plot must name a \.png file, got map\.jpg"):
        draw_attention_map(run_folder, "doc.txt", Path("map.jpg"))
    with pytest.raises(DataError, match="nowhere"):
        draw_attention_map(run_folder, str(tmp_path / "nowhere.txt"), tmp_path / "map.png")
    monkeypatch.setattr("sumpool.bench.plots.find_spec", lambda _: None)
    with pytest.raises(RecipeError, match="--plot must have matplotlib, which is not installed"):
        draw_attention_map(run_folder, "doc.txt", tmp_path / "map.png")
