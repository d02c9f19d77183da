import json
from pathlib import Path
from typing import Any

import corpus
import pytest
from packages import PACKAGES, Package

SENTENCE = "The scheduler of part {0} keeps one queue of tasks for each of the {0} processors that it has in case {0}."


def package(root: Path, name: str, pages: dict[str, str]) -> None:
    folder = root / "packages" / name
    (folder / "usr/share/doc" / name).mkdir(parents=True)
    (folder / "usr/share/doc" / name / "copyright").write_text("License: GPL-2+\n")
    (root / "packages" / f"{name}_1%3a2.0-3_all.deb").touch()
    for file, text in pages.items():
        (folder / "usr/share/doc" / name / file).write_text(text)


def page(parts: range) -> str:
    return "<html><body><main>" + "".join(f"<p>{SENTENCE.format(part)}</p>" for part in parts) + "</main></body></html>"


def rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(corpus, "PACKAGES", (Package("alpha"), Package("beta"), Package("no-such-package")))
    package(tmp_path / "cache", "alpha", {"a.html": page(range(10)), "b.html": page(range(10, 25))})
    package(tmp_path / "cache", "beta", {"c.html": page(range(5, 25)), "d.html": page(range(30, 50))})
    return tmp_path / "cache"


def test_packages_have_one_entry_each() -> None:
    names = [package.name for package in PACKAGES]
    assert len(set(names)) == len(names) > 100


def test_a_corpus_has_new_paragraphs_and_a_report(cache: Path, tmp_path: Path) -> None:
    held_out = tmp_path / "test.jsonl"
    held_out.write_text(json.dumps({"document": SENTENCE.format(31), "summary": "Of queues."}) + "\n")
    corpus.main([str(tmp_path / "out"), "--cache", str(cache), "--held-out", str(held_out)])
    texts = {row["id"]: row for name in ("train", "validation") for row in rows(tmp_path / f"out/{name}.jsonl")}
    pages = ("alpha/usr/share/doc/alpha/a", "alpha/usr/share/doc/alpha/b", "beta/usr/share/doc/beta/d")
    # all paragraphs of c.html are in the pages of alpha
    assert set(texts) == {f"{name}.html#0" for name in pages}
    document = texts["beta/usr/share/doc/beta/d.html#0"]["document"]
    assert SENTENCE.format(30) in document
    assert SENTENCE.format(31) not in document
    report = json.loads((tmp_path / "out/report.json").read_text())
    alpha, beta, missing = report["packages"]
    assert (alpha["version"], alpha["licences"], alpha["texts"], missing["texts"]) == ("1:2.0-3", ["GPL-2+"], 2, 0)
    assert beta["repeated"] == 20 * len(SENTENCE.split())
    assert beta["held_out"] == len(SENTENCE.split())
    assert report["total"]["words"] == alpha["words"] + beta["words"]


def test_sizes_are_limited(cache: Path, tmp_path: Path) -> None:
    corpus.main([str(tmp_path / "a"), "--cache", str(cache), "--mebibytes", "0.0005"])
    assert [share["package"] for share in json.loads((tmp_path / "a/report.json").read_text())["packages"]] == ["alpha"]
    corpus.main([str(tmp_path / "b"), "--cache", str(cache), "--package-mebibytes", "0.0005"])
    shares = json.loads((tmp_path / "b/report.json").read_text())["packages"]
    assert [share["texts"] for share in shares] == [1, 1, 0]


def test_the_prose_of_a_package_is_read_once(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ["--cache", str(cache), "--packages", "alpha"]
    corpus.main([str(tmp_path / "a"), *arguments])
    monkeypatch.setattr(corpus, "read_prose", None)
    corpus.main([str(tmp_path / "b"), *arguments])
    assert (tmp_path / "a/train.jsonl").read_text() == (tmp_path / "b/train.jsonl").read_text()
