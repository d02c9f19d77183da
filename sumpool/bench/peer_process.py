"""Process of a peer: `python -m sumpool.bench.peer_process JOB.json`.

Prints a line for each summary as soon as its batch is done; in a trial, a line for each batch size. Documents are
sorted by length, short ones first, which wastes little on padding and makes the first summary early.
"""

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sumpool.io.bounded import parse_json
from sumpool.special_tokens import BOS, EOS
from sumpool.text.tokenizer import load_tokenizer

Generate = Callable[[Sequence[list[int]]], list[list[int]]]
"""Generates a summary for each document of a batch."""


def read_documents(path: Path) -> list[tuple[str, str]]:
    """Read the ID and the text of each document from JSON lines."""
    rows = [parse_json(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [(row["id"], row["document"]) for row in rows]


@dataclass(frozen=True)
class PeerJob:
    """Work of a peer's process.

    Attributes:
        library: "transformers" or "ctranslate2".
        model: Folder of the peer's weights.
        precision: Name of a dtype of torch, or a compute type of CTranslate2.
        device: Device of torch.
        threads: Threads of CTranslate2.
        tokenizer: Folder of the tokenizer.
        documents: JSON lines of the documents.
        source_length: Tokens of a document that the peer reads at most.
        beams: Beams of the search.
        generate: Tokens of each summary.
        batches: Documents per batch: the sizes that a trial compares, or the only size of a measurement.
        is_trial: Whether the time of each batch size is printed instead of summaries.
    """

    library: str
    model: str
    precision: str
    device: str
    threads: int
    tokenizer: str
    documents: str
    source_length: int
    beams: int
    generate: int
    batches: Sequence[int]
    is_trial: bool


def transformers_generator(job: PeerJob, pad: int) -> Generate:
    """Load a model of transformers."""
    import torch
    from torch.nn.utils.rnn import pad_sequence
    from transformers import AutoModelForSeq2SeqLM, GenerationConfig

    from sumpool.bench.peers import TOKEN_IDS

    model = AutoModelForSeq2SeqLM.from_pretrained(job.model, dtype=getattr(torch, job.precision)).to(job.device).eval()
    lengths = {"min_new_tokens": job.generate, "max_new_tokens": job.generate}
    settings = GenerationConfig(num_beams=job.beams, do_sample=False, **lengths, **TOKEN_IDS)

    def generate(documents: Sequence[list[int]]) -> list[list[int]]:
        parts = [torch.tensor(document) for document in documents]
        ids = pad_sequence(parts, batch_first=True, padding_value=pad).to(job.device)
        mask = pad_sequence([torch.ones_like(part) for part in parts], batch_first=True).to(job.device)
        with torch.inference_mode():
            summaries: list[list[int]] = model.generate(ids, attention_mask=mask, generation_config=settings).tolist()
        return [summary[1:] for summary in summaries]  # without BOS

    return generate


def ctranslate2_generator(job: PeerJob) -> Generate:
    """Load a model of CTranslate2, whose vocabulary is the token ids as text."""
    from ctranslate2 import Translator

    engine = Translator(
        job.model, device=job.device, compute_type=job.precision, inter_threads=1, intra_threads=job.threads
    )

    def generate(documents: Sequence[list[int]]) -> list[list[int]]:
        results = engine.translate_batch(
            [list(map(str, document)) for document in documents],
            beam_size=job.beams,
            min_decoding_length=job.generate,
            max_decoding_length=job.generate,
            max_input_length=0,  # all of it
        )
        return [[int(token) for token in result.hypotheses[0]] for result in results]

    return generate


def main(path: Path) -> None:
    """Run the job that a JSON file describes."""
    job = PeerJob(**parse_json(path.read_bytes()))
    tokenizer = load_tokenizer(Path(job.tokenizer))
    pad = tokenizer.special_tokens.pad
    generate = ctranslate2_generator(job) if job.library == "ctranslate2" else transformers_generator(job, pad)
    rows = read_documents(Path(job.documents))
    encoded = tokenizer.encode_batch([" ".join(text.split()) for _, text in rows])
    inner = job.source_length - 2  # besides BOS and EOS
    documents = [(name, [BOS, *ids[:inner], EOS]) for (name, _), ids in zip(rows, encoded, strict=True)]
    documents.sort(key=lambda document: len(document[1]))
    if job.is_trial:
        generate([documents[0][1]])  # the first call allocates memory and selects kernels
        for batch in job.batches:
            start = time.perf_counter()
            for _ in _summaries(documents, batch, generate):
                pass
            _print({"batch": batch, "seconds": time.perf_counter() - start})
        return
    for name, ids, summary in _summaries(documents, job.batches[0], generate):
        text = tokenizer.decode([token for token in summary if token < tokenizer.vocab_size])
        _print({"id": name, "tokens_read": len(ids), "tokens_written": len(summary), "summary": text})


def _summaries(
    documents: Sequence[tuple[str, list[int]]], batch: int, generate: Generate
) -> Iterator[tuple[str, list[int], list[int]]]:
    for start in range(0, len(documents), batch):
        part = documents[start : start + batch]
        for (name, ids), summary in zip(part, generate([ids for _, ids in part]), strict=True):
            yield name, ids, summary


def _print(row: dict[str, Any]) -> None:
    sys.stdout.write(f"{json.dumps(row)}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
