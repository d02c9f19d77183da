"""Whether other documents of a batch change the samples that a model draws for a document, or its summary.

    python docs/scripts/batch_mates.py RFC_FOLDER [--documents 500] [--precision int8] [--batches 1:0 4:1 16:1]

RFC_FOLDER holds rfcN.txt.gz; the last ones of the test split are read as files. Every batch SIZE:SEED generates all of
them in batches of this size, in an order by the seed (0 is that of the files), and is compared with the first one. Each
document is encoded once, as a CPU encodes documents one by one.
"""

import argparse
import random
import time
from pathlib import Path

import torch

from sumpool.core.model.encoder import Memory
from sumpool.documents.read import read_documents
from sumpool.inference.generation import Generated
from sumpool.inference.pipeline import Pipeline
from sumpool.inference.run_files import RunFiles
from sumpool.io.manifest import SHIPPED

TEST = 7
"""Last digit of the numbers of the test split."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rfcs", type=Path)
    parser.add_argument("--documents", type=int, default=500)
    parser.add_argument("--precision", default="int8")
    parser.add_argument("--batches", nargs="+", default=[f"{size}:{seed}" for size in (1, 4, 16) for seed in range(4)])
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    numbers = sorted(int(path.name[3:-7]) for path in arguments.rfcs.glob("rfc*.txt.gz"))
    numbers = [number for number in numbers if number % 10 == TEST][-arguments.documents :]
    pipeline = Pipeline.open(RunFiles.open(SHIPPED, [f"summarize.precision={arguments.precision}"]))
    files = (read_documents(str(arguments.rfcs / f"rfc{number}.txt.gz")) for number in numbers)
    readings = [pipeline.read(document) for documents in files for document in documents]
    inputs = [(reading, reading.input.item) for reading in readings if reading.input and reading.input.item]
    print(f"{len(inputs)} of {len(readings)} documents are summarised by the model")  # noqa: T201

    generator = pipeline._model._generator
    encode, encoded = generator._encode, dict[bytes, Memory]()
    for _, item in inputs:
        encoded[item.ids.tobytes()] = encode([item])
    generator._encode = lambda chunks: Memory.join([encoded[item.ids.tobytes()] for item in chunks])  # type: ignore[method-assign]
    first: list[Generated] = []
    for size, seed in (map(int, batch.split(":")) for batch in arguments.batches):
        order = list(range(len(inputs)))
        if seed:
            random.Random(seed).shuffle(order)
        results: dict[int, Generated] = {}
        start = time.perf_counter()
        for begin in range(0, len(order), size):
            part = order[begin : begin + size]
            generated = generator.generate([inputs[i][1] for i in part], [inputs[i][0].target for i in part])
            results.update(zip(part, generated, strict=True))
        seconds = time.perf_counter() - start
        drawn = [results[number] for number in range(len(inputs))]
        first = first or drawn
        changed = [number for number, one in enumerate(drawn) if one != first[number]]
        summaries = sum(
            pipeline._summary(inputs[number][0], drawn[number], 0).text
            != pipeline._summary(inputs[number][0], first[number], 0).text
            for number in changed
        )
        print(  # noqa: T201
            f"{arguments.precision}, batches of {size}, order {seed}: {len(changed)} documents with other samples, "
            f"{summaries} with another summary, {seconds:.0f} s"
        )


if __name__ == "__main__":
    main()
