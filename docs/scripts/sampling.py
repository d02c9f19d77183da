"""What the samples of a summary take, and what fewer of them or proposed tokens would change.

    python docs/scripts/sampling.py RFC_FOLDER [--documents 100]

RFC_FOLDER holds rfcN.txt.gz and rfcN.json; documents are spread over the test split. Seconds are those of the processor
with one thread. Proposed are the tokens of the source behind the first place of the last tokens of a sample, which
the next step would verify (prompt lookup decoding).
"""

import argparse
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import mean, median
from typing import Any

import torch

from sumpool.data.shards import Item
from sumpool.data.sources import RfcSourceConfig
from sumpool.documents.document import Document
from sumpool.inference.extraction import Reading
from sumpool.inference.pipeline import Pipeline
from sumpool.inference.run_files import RunFiles
from sumpool.io.manifest import SHIPPED

SECONDS: dict[str, list[float]] = defaultdict(list)
SAMPLES: list[Sequence[int]] = []


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rfcs", type=Path)
    parser.add_argument("--documents", type=int, default=100)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    pipeline = Pipeline.open(RunFiles.open(SHIPPED))
    model = pipeline._model
    instrument(pipeline)
    same: dict[int, list[bool]] = defaultdict(list)
    rates: dict[tuple[int, int], list[float]] = defaultdict(list)
    for reading, item in readings(pipeline, arguments.rfcs, arguments.documents):
        SAMPLES.clear()
        (generated,) = model._generator.generate([item])
        chosen = model.choose(reading, generated)[2].selected
        for count in (4, 8, 12):
            same[count].append(model._extract(reading, generated.samples[:count]).selected == chosen)
        for context in (2, 3):
            for proposed in (1, 2, 4):
                steps = sum(count_steps(tokens, item.ids.tolist(), context, proposed) for tokens in SAMPLES)
                rates[context, proposed].append(sum(len(tokens) + 1 for tokens in SAMPLES) / steps)
    for name, times in sorted(SECONDS.items()):
        print(f"{name}: {1e3 * median(times):.1f} ms, {len(times)} times")  # noqa: T201
    for count, equal in same.items():
        print(f"{count} samples: the same sentences of {mean(equal):.0%} of {len(equal)} documents")  # noqa: T201
    for (context, proposed), each in rates.items():
        print(f"{proposed} proposed behind {context} tokens: {mean(each):.2f} tokens for each step")  # noqa: T201


def readings(pipeline: Pipeline, rfcs: Path, documents: int) -> Iterator[tuple[Reading, Item]]:
    """Read the documents that are summarised by the model."""
    rows = list(RfcSourceConfig(path=rfcs).examples("test"))
    for row in rows[:: max(1, len(rows) // documents)]:
        reading = pipeline.read(Document(row.id, row.document))
        if reading.input and reading.input.item:
            yield reading, reading.input.item


def instrument(pipeline: Pipeline) -> None:
    """Keep the seconds of each part, and the tokens of the samples."""
    generator = pipeline._model._generator
    decode = generator._decode

    def keep(tokens: Sequence[int]) -> str:
        SAMPLES.append(tokens)
        return decode(tokens)

    def timed(part: str, function: Callable[..., object]) -> Callable[..., object]:
        def call(*inputs: Any) -> object:  # noqa: ANN401 - those of the function
            start = time.process_time()
            result = function(*inputs)
            name = f"step of {len(inputs[0]):2} samples" if part == "step" else part
            SECONDS[name].append(time.process_time() - start)
            return result

        return call

    setattr(generator, decode.__name__, keep)
    parts = (generator, "_encode"), (generator, "_sample"), (generator._decoder, "step"), (pipeline._model, "choose")
    for owner, part in parts:
        setattr(owner, part, timed(part, getattr(owner, part)))


def count_steps(tokens: Sequence[int], source: Sequence[int], context: int, proposed: int) -> int:
    """Return the steps that a sample takes if each verifies so many proposed tokens."""
    behind: dict[tuple[int, ...], int] = {}
    for end in range(context, len(source)):
        behind.setdefault(tuple(source[end - context : end]), end)
    done = steps = 0
    while done <= len(tokens):
        place = behind.get(tuple(tokens[max(done - context, 0) : done]), len(source))
        pairs = list(zip(tokens[done:], source[place : place + proposed], strict=False))
        done += 1 + next((index for index, (token, proposal) in enumerate(pairs) if token != proposal), len(pairs))
        steps += 1
    return steps


if __name__ == "__main__":
    main()
