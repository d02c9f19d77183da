"""Time of encoding and of a decoding step by precision: `python docs/scripts/precisions.py RECIPE --beams 2`.

The weights of a recipe are random. The precisions, and int8 with the kernels of torch where there are compiled ones,
take turns in one process with one thread, so that times are seconds of its processor, whatever else the machine does.
"""

import argparse
import copy
import statistics
import sys
import time
from pathlib import Path
from unittest.mock import patch

import torch

from sumpool.core.model.summarizer import SummarizationModel
from sumpool.core.nn import kernels, quantization
from sumpool.core.nn.kernels import load_kernels
from sumpool.core.nn.quantization import Precision, has_packed_bf16, quantize
from sumpool.recipe.load import load_recipe


def main() -> None:
    """Print a line for each precision of this processor."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recipe", type=Path, help="recipe, or run folder")
    parser.add_argument("--vocabulary", type=int, default=8_000)
    parser.add_argument("--documents", type=int, default=1)
    parser.add_argument("--tokens", type=int, default=2_048, help="tokens of a document")
    parser.add_argument("--beams", type=int, default=4)
    parser.add_argument("--samples", action="store_true", help="each beam has a cache of its own, as a sample has")
    parser.add_argument("--steps", type=int, default=64)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    recipe = load_recipe(arguments.recipe, ())
    model = SummarizationModel(recipe.model, arguments.vocabulary).eval().requires_grad_(False)
    precisions: list[Precision] = ["fp32", "int8"]
    if has_packed_bf16():
        precisions.append("bf16")
    models: dict[str, SummarizationModel] = {}
    for precision in precisions:
        models[precision] = copy.deepcopy(model)
        quantize(models[precision], precision)
    if load_kernels():
        with patch.object(quantization, "load_kernels", lambda: None):
            models["int8 of torch"] = copy.deepcopy(model)
            quantize(models["int8 of torch"], "int8")
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in models}
    for _ in range(arguments.repeat):
        for name, quantized in models.items():
            with patch.object(kernels, "load_kernels", (lambda: None) if name == "int8 of torch" else load_kernels):
                times[name].append(measure(quantized, arguments))
    for name, pairs in times.items():
        encoding, step = (statistics.median(column) for column in zip(*pairs, strict=True))
        sys.stdout.write(f"{name}: encoding {1e3 * encoding:,.1f} ms, a step {1e3 * step:.2f} ms\n")


@torch.inference_mode()
def measure(model: SummarizationModel, arguments: argparse.Namespace) -> tuple[float, float]:
    """Return the seconds of encoding, and of a step on average."""
    documents, tokens = arguments.documents, arguments.tokens
    ids = torch.randint(5, arguments.vocabulary, (documents, tokens))
    start = time.process_time()
    memory = model.encode(ids, torch.ones_like(ids, dtype=torch.bool), torch.zeros_like(ids))
    encoded = time.process_time()
    state = model.start(memory, arguments.beams, independent=arguments.samples)
    last = torch.full((documents * arguments.beams,), model.special_tokens.decoder_start)
    begin = time.process_time()
    for _ in range(arguments.steps):
        _, state = model.step(last, state)
    return encoded - start, (time.process_time() - begin) / arguments.steps


if __name__ == "__main__":
    main()
