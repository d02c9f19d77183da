"""Rows of the Spotify podcasts of the TREC podcasts track 2020, as JSON lines of transcripts and descriptions.

    python recipes/papers/bart/podcasts.py spotify-podcasts-2020 OUT

reads the release (Clifton et al., 2020): `metadata.tsv` and `podcasts-transcripts/S/H/show_.../EPISODE.json`, where S
and H are the first characters of the show's id, and the files of the test, whose names end in `-summarization-testset`.
It writes OUT/train.jsonl, OUT/validation.jsonl and OUT/test.jsonl.

Published: training and validation are the "brass set", descriptions of 20 to 750 characters whose lexical overlap is
at most 40 % with the description of the show and at most 50 % with those of other episodes (Clifton et al., 2020; the
limits leave out 23, 9 and 15 % of the descriptions); sentences with addresses and the advertisement of Anchor are left
out, and then descriptions of fewer than five words (code released by Manakul and Gales). Paper 3 has 60,415 episodes
for training, 2,189 for validation and 1,027 for the test.

Ours: overlap, which no paper defines, is the share of the pairs of words of a description that the other text has;
other episodes are the earlier ones of the same show; sentences end by a regular expression in place of NLTK; episodes
from number 100,000 on, in the order of the metadata, are for validation; the test is complete and unchanged. The
numbers of episodes differ accordingly.
"""

import argparse
import csv
import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path

VALIDATION = 100_000
"""First episode of validation."""
_TEST = "-summarization-testset"
_ADDRESS = re.compile(r"(?:https?://)?[\w./?:@=#-]+\.[a-z]{2,6}\b", re.IGNORECASE)
_ADVERTISEMENT = "Anchor: The easiest way to make a podcast."
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


def transcript(path: Path) -> str:
    """Return the speech of an episode; the last result of the file repeats all words with their speakers."""
    results = json.loads(path.read_text("utf-8"))["results"][:-1]
    parts = (part.get("transcript", "") for result in results for part in result["alternatives"][:1])
    return " ".join("".join(parts).split())


def clean(description: str) -> str:
    """Leave out sentences with addresses and advertisements."""
    sentences = _SENTENCE_END.split(" ".join(description.split()))
    kept = (text for text in sentences if _ADVERTISEMENT not in text and not _ADDRESS.search(text))
    return " ".join(kept)


Pairs = frozenset[tuple[str, str]]


def word_pairs(text: str) -> Pairs:
    """Return the different pairs of successive words of a text."""
    return frozenset(pairwise(re.findall(r"\w+", text.lower())))


def overlap(description: Pairs, other: Pairs) -> float:
    """Return the share of the pairs of a description that another text has too."""
    return len(description & other) / max(len(description), 1)


def episodes(folder: Path, suffix: str = "") -> Iterator[Mapping[str, str]]:
    """Read the rows of the metadata."""
    with (folder / f"metadata{suffix}.tsv").open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file, delimiter="\t")


def brass_set(rows: Iterator[Mapping[str, str]]) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Choose the episodes for training and validation; return them with their numbers."""
    earlier: dict[str, list[Pairs]] = defaultdict(list)
    for number, row in enumerate(rows):
        description = row["episode_description"]
        found, others = word_pairs(description), earlier[row["show_uri"]]
        repeated = any(overlap(found, other) > 0.5 for other in others)
        others.append(found)
        if not 20 <= len(description) <= 750 or repeated or overlap(found, word_pairs(row["show_description"])) > 0.4:
            continue
        if len(clean(description).split()) >= 5:
            yield number, {**row, "episode_description": clean(description)}


def line(folder: Path, row: Mapping[str, str], suffix: str = "") -> str:
    """Return the row of an episode."""
    show = row["show_uri"].split(":")[-1].upper()
    place = f"{show[0]}/{show[1]}/{row['show_filename_prefix']}/{row['episode_filename_prefix']}.json"
    document = transcript(folder / f"podcasts-transcripts{suffix}" / place)
    fields = {"id": row["episode_uri"], "document": document, "summary": row["episode_description"]}
    return json.dumps(fields, ensure_ascii=False) + "\n"


def main() -> None:
    """Write the splits of the folder on the command line."""
    csv.field_size_limit(sys.maxsize)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--validation", type=int, default=VALIDATION, help="first episode of validation")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    files = {
        name: (given.out / f"{name}.jsonl").open("w", encoding="utf-8") for name in ("train", "validation", "test")
    }
    for number, row in brass_set(episodes(given.folder)):
        files["train" if number < given.validation else "validation"].write(line(given.folder, row))
    for row in episodes(given.folder, _TEST):
        files["test"].write(line(given.folder, row, _TEST))
    for file in files.values():
        file.close()


if __name__ == "__main__":
    main()
