"""Bits per character of a trained language model on the same text by two code paths, in double precision.

    python docs/scripts/language_model_paths.py RUN [TOKENS] [SPLIT] [SETTING ...]

A setting is such as evaluate.step=2048.

The first path computes whole windows, the second reads them token by token through the cache of generation.
"""

import sys
import time
from pathlib import Path

from sumpool.data.sources._base import Split
from sumpool.evaluation.language_modeling import score_language_model
from sumpool.tasks.language_modeling.loading import load_language_model, split_of
from sumpool.tasks.language_modeling.scoring import EncodedText, score_by_steps, score_text, score_windows
from sumpool.workflows.evaluate_language_models import windows_of

BATCH_TOKENS = 1 << 17


def main(run: str, tokens: str = "1000000", split: Split = "test", *changes: str) -> None:
    """Score the beginning of a split on both paths, and print bits per character, seconds and the difference."""
    loaded = load_language_model(Path(run), changes)
    loaded.model.double()
    text = EncodedText(split_of(loaded, split).ids[: int(tokens)], loaded.token_bytes)
    config = loaded.recipe.evaluate
    windows = windows_of(config, len(text.ids))
    bpc = []
    for name, path in (("windows", score_windows), ("steps", score_by_steps)):
        start = time.process_time()
        scores = score_text(
            loaded.model, text, windows, batch_tokens=BATCH_TOKENS, device=loaded.device, scores_of=path
        )
        size = config.window, config.step
        bpc.append(score_language_model((name, split, config.protocol), size, list(scores), 100).bpc.mean)
        seconds = time.process_time() - start
        sys.stdout.write(
            f"{name:8} {len(text.ids):,} tokens, {bpc[-1]:.12f} bits per character, {seconds:.0f} processor s\n"
        )
    sys.stdout.write(f"difference {abs(bpc[0] - bpc[1]):.2e}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])  # type: ignore[arg-type] # a split that is none is an error of the folder
