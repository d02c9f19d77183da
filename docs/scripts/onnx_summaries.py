"""Beam search over the ONNX graphs of a model beside the same search over the model, in float32.

    sumpool export RUN FOLDER --format onnx
    python docs/scripts/onnx_summaries.py RUN FOLDER DOCUMENT ...

Prints the documents whose summaries differ, their number, and the seconds of both.
"""

import sys
import time
from pathlib import Path

import torch

from sumpool.core.decoding.beam import search
from sumpool.core.decoding.constraints import NoRepeatWords, Rules, TokenSurfaces
from sumpool.data.batches import collate
from sumpool.documents.read import read_all
from sumpool.inference.loading import load_model
from sumpool.inference.pipeline import Pipeline
from sumpool.onnx.session import OnnxModel


@torch.inference_mode()
def main(run: str, folder: str, *names: str) -> None:
    """Summarise the beginning of each document twice and compare the tokens."""
    loaded = load_model(Path(run))
    model, config, pad = loaded.model, loaded.recipe.summarize, loaded.model.special_tokens.pad
    graphs = OnnxModel(Path(folder), torch.get_num_threads())
    constraints = [NoRepeatWords(config.no_repeat_words, TokenSurfaces(loaded.tokenizer.token_bytes()))]
    rules = Rules(config.begin_with, constraints if config.no_repeat_words else [], model.special_tokens)
    pipeline, seconds, equal, count = Pipeline.of(loaded), [0.0, 0.0], 0, 0

    for document in read_all(names):
        read = pipeline.read(document).input
        if read and read.item:
            batch = collate([read.item], model.config.source_length, 1, special_tokens=model.special_tokens)
            documents = batch.ids, batch.mask, batch.sentences
            summaries = []
            for index, step in enumerate((model.step, graphs.step)):
                began = time.perf_counter()
                if index:
                    state = graphs.start(*documents, beams=config.beams, pad=pad)
                else:
                    state = model.start(model.encode(*documents), config.beams)
                [hypotheses] = search(step, state, [loaded.lengths], config.ranking(), rules)
                seconds[index] += time.perf_counter() - began
                summaries.append(loaded.tokenizer.decode(hypotheses[0].tokens))
            count, equal = count + 1, equal + (summaries[0] == summaries[1])
            if summaries[0] != summaries[1]:
                sys.stdout.write(f"{document.id} differs\n  {summaries[0]}\n  {summaries[1]}\n")
    sys.stdout.write(
        f"{equal} of {count} summaries are equal; {seconds[0]:.1f} s in torch, {seconds[1]:.1f} s in ONNX Runtime\n"
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
