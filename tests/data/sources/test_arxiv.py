import json
from pathlib import Path

from sumpool.data.sources._base import Example
from sumpool.data.sources.arxiv import ArxivSourceConfig


def test_articles_of_all_splits_are_read(tmp_path: Path) -> None:
    for name in ("train", "val", "test"):
        fields = {"article_id": name, "abstract_text": ["<S> short . </S>"], "sections": [["long ."]]}
        (tmp_path / f"{name}.txt").write_text(json.dumps(fields))
    config = ArxivSourceConfig(path=tmp_path)
    assert list(config.rows()) == [
        Example("train", "long .", "short .", "train"),
        Example("val", "long .", "short .", "validation"),
        Example("test", "long .", "short .", "test"),
    ]
    assert [path.name for path in config.files()] == ["train.txt", "val.txt", "test.txt"]
