"""Fit the part of the sentence ranker that knows summaries sampled from a model, on documents that neither has seen.

    python docs/scripts/ranker_samples.py MODEL RANKER VALIDATION.jsonl SAMPLES.jsonl [--every 1] [--save FOLDER]

Samples summaries of the rows ("id", "document", "summary") of the validation split, from what the model reads of them,
which the ranker of MODEL chooses, and keeps them in SAMPLES.jsonl, where a second call continues. Then trees are fitted
over the score of the ranker in the folder RANKER and the agreement with the samples. `--test ROWS.jsonl SAMPLES.jsonl`
prints ROUGE-1, -2 and -Lsum at 60 words with and without samples. `--save` writes the ranker into a folder, with its
digest if that is a run. Sampling takes about 0.8 seconds per document of an idle core, the rest six minutes for 800.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sumpool.documents.document import Document
from sumpool.documents.source_sentences import source_sentences
from sumpool.evaluation.agreement import RougeTokenizer
from sumpool.evaluation.rouge import Rouge
from sumpool.inference.generation import Generator
from sumpool.inference.loading import load_for_generation
from sumpool.inference.pipeline import Pipeline
from sumpool.io.atomic import temporary_path
from sumpool.io.listed_files import replace_listed_file
from sumpool.ranking.agreement_features import agreement_features
from sumpool.ranking.config import RankingConfig
from sumpool.ranking.examples import RankingExample
from sumpool.ranking.features import sentence_features
from sumpool.ranking.fit import fit_agreement
from sumpool.ranking.labels import sentence_labels
from sumpool.ranking.ranker import FILE, Ranker
from sumpool.ranking.selection import find_candidates, select
from sumpool.text.sentences import SentenceSplitter

SPLITTER = SentenceSplitter()
TOKENIZER = RougeTokenizer(stemmer=True)
ROUGE = Rouge(stemmer=True, split=SPLITTER.split, splitter="the shipped one")
WORDS = 60

Case = tuple[RankingExample, list[str], str]
"""Example with its candidates and its reference."""


def main() -> None:
    """Sample, fit and evaluate."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("ranker", type=Path)
    parser.add_argument("rows", type=Path)
    parser.add_argument("samples", type=Path)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--test", type=Path, nargs=2)
    parser.add_argument("--save", type=Path)
    arguments = parser.parse_args()
    ranker = Ranker.load(arguments.ranker)
    rows = read_rows(arguments.rows, arguments.every)
    sample(arguments.model, rows, arguments.samples)
    fitted = fit_agreement(ranker, [case[0] for case in cases(rows, arguments.samples)], RankingConfig())
    if arguments.test:
        tests = read_rows(arguments.test[0], arguments.every)
        sample(arguments.model, tests, arguments.test[1])
        for name, system in (("structure", Ranker(ranker.cues, ranker.structure)), ("with samples", fitted)):
            scores = [score(case, system) for case in cases(tests, arguments.test[1])]
            print(name, len(scores), np.round(100 * np.mean(scores, axis=0), 1).tolist())  # noqa: T201
    if arguments.save:
        save(fitted, arguments.save)


def save(ranker: Ranker, folder: Path) -> None:
    """Write a ranker into a folder, with its digest in the manifest of a run."""
    if not (folder / "manifest.json").is_file():
        ranker.save(folder)
        return
    temporary_path(folder / FILE).write_bytes(ranker.to_bytes())
    replace_listed_file(folder / FILE, {})


def read_rows(path: Path, every: int) -> list[dict[str, str]]:
    """Return every n-th row of a file."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()[::every]]


def sample(model: Path, rows: Sequence[dict[str, str]], out: Path) -> None:
    """Append the samples of the rows that the file does not have."""
    known = {json.loads(line)["id"] for line in out.read_text("utf-8").splitlines()} if out.exists() else set()
    missing = [row for row in rows if row["id"] not in known]
    if not missing:
        return
    loaded = load_for_generation(model)
    config = loaded.recipe.summarize.model_copy(update={"mode": "extractive"})
    pipeline, generator = Pipeline.of(loaded), Generator(loaded.model, loaded.tokenizer, config, loaded.lengths)
    with out.open("a", encoding="utf-8") as file:
        for row in missing:
            read = pipeline.read(Document(row["id"], row["document"])).input
            if read and read.item:
                (generated,) = generator.generate([read.item])
                line = {"id": row["id"], "text": generated.text, "samples": generated.samples}
                file.write(json.dumps(line) + "\n")
                file.flush()


def cases(rows: Sequence[dict[str, str]], samples: Path) -> list[Case]:
    """Return the rows that have samples as examples."""
    sampled = {line["id"]: line for line in map(json.loads, samples.read_text("utf-8").splitlines())}
    result = []
    for row in rows:
        if row["id"] in sampled:
            sentences = source_sentences(Document(row["id"], row["document"]), SPLITTER)
            candidates = find_candidates(sentences)
            texts = [sentences[index].text for index in candidates]
            example = RankingExample(
                sentence_features(sentences, candidates, ""),
                sentence_labels(texts, row["summary"], TOKENIZER.tokenize),
            )
            line = sampled[row["id"]]
            agreement = agreement_features(texts, line["samples"], line["text"])
            result.append((example.with_agreement(agreement), texts, row["summary"]))
    return result


def score(case: Case, ranker: Ranker) -> list[float]:
    """Return ROUGE-1, -2 and -Lsum of the selection of `WORDS` words, the last sentence cut."""
    example, texts, reference = case
    parts: list[tuple[int, str]] = []
    room = WORDS
    for index in select(texts, ranker.score(example.features), 3 * WORDS):
        words = texts[index].split()
        parts.append((index, " ".join(words[: max(room, 0)])))
        room -= len(words)
    scores = ROUGE.score(" ".join(text for _, text in sorted(parts)), reference)
    return [scores[name].f1 for name in ("rouge1", "rouge2", "rougeLsum")]


if __name__ == "__main__":
    main()
