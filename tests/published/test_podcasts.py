"""Rows of Spotify podcasts in the layout of their release."""

import csv
import json
from pathlib import Path

import podcasts
import pytest

ABOUT = "Two friends talk about the history of small railways and visit the people who still run one of them."
COLUMNS = (
    "show_uri",
    "show_description",
    "episode_uri",
    "episode_description",
    "show_filename_prefix",
    "episode_filename_prefix",
)


def description(number: int) -> str:
    kept = f"Station {number} of line {number} has a keeper {number} who shows tower {number}."
    return f"{kept} See www.rails.example/{number}."


def release(folder: Path) -> Path:
    """Write episodes in the layout of the release: those of one show, and its test."""
    rows = [description(number) for number in range(12)]
    rows[3] = rows[2]  # repeats another episode
    rows[4] = ABOUT  # repeats the show
    rows[5] = "Too short a text."  # 17 characters
    rows[6] = "Listen to this at www.rails.example now, my friends."  # an address only
    for suffix, texts in (("", rows), ("-summarization-testset", [rows[0], "Short."])):
        folder.mkdir(exist_ok=True)
        with (folder / f"metadata{suffix}.tsv").open("w", newline="") as file:
            writer = csv.writer(file, delimiter="\t")
            writer.writerow(COLUMNS)
            for number, text in enumerate(texts):
                uri = f"spotify:episode:{suffix}{number}"
                writer.writerow(["spotify:show:7bX9", ABOUT, uri, text, "show_7bX9", f"episode{number}"])
        place = folder / f"podcasts-transcripts{suffix}" / "7" / "B" / "show_7bX9"
        place.mkdir(parents=True)
        for number in range(len(texts)):
            parts = [
                f"Hello and welcome to tower {number}{suffix}. ",
                "We walk along the rails. ",
                "Thank you for listening.",
            ]
            speech = [{"alternatives": [{"transcript": part, "words": []}]} for part in parts]
            results = [
                *speech[:2],
                {"alternatives": [{}]},
                speech[2],
                {"alternatives": [{"words": [{"word": "Hello"}]}]},
            ]
            (place / f"episode{number}.json").write_text(json.dumps({"results": results}))
    return folder


def rows_of(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def make(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    source, out = release(folder / "spotify-podcasts-2020"), folder / "podcasts"
    monkeypatch.setattr("sys.argv", ["podcasts.py", str(source), str(out), "--validation", "10"])
    podcasts.main()
    return out


def test_rows_are_those_of_the_brass_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = make(tmp_path, monkeypatch)
    training = rows_of(out / "train.jsonl")
    assert [row["id"] for row in training] == [f"spotify:episode:{number}" for number in (0, 1, 2, 7, 8, 9)]
    assert training[1] == {
        "id": "spotify:episode:1",
        "document": "Hello and welcome to tower 1. We walk along the rails. Thank you for listening.",
        "summary": "Station 1 of line 1 has a keeper 1 who shows tower 1.",
    }
    assert [row["id"][-2:] for row in rows_of(out / "validation.jsonl")] == ["10", "11"]
    assert [row["summary"] for row in rows_of(out / "test.jsonl")] == [description(0), "Short."]
