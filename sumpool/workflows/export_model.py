"""`sumpool export`: a run folder in, a folder for distributing the model out."""

import shutil
from pathlib import Path
from typing import Literal

import torch

from sumpool.errors import CheckpointError, RecipeError
from sumpool.inference.loading import load_model
from sumpool.io.manifest import RECIPE, REPORT, FileDigest, Manifest, require_own
from sumpool.onnx import check_graphs, convert, onnx_section, require_onnx
from sumpool.pretrained.save import save_pretrained
from sumpool.progress import Check, Progress, Report, no_op, told_when_stopped
from sumpool.ranking.ranker import FILE as RANKER
from sumpool.runs.model_card import CARD, transformers_card
from sumpool.runs.run_folder import new_folder, require_new
from sumpool.text.hf_tokenizer import HuggingFaceTokenizer
from sumpool.text.tokenizer import TOKENIZER_FILES
from sumpool.training.weights import export

Format = Literal["safetensors", "onnx", "huggingface"]


def export_model(
    run: Path,
    out: Path,
    precision: Literal["bf16", "fp32"] | None = None,
    format_: Format = "safetensors",
    *,
    report: Report = no_op,
    check: Check = no_op,
) -> Path:
    """Copy from a run folder what summarising needs, without checkpoints and the metrics log.

    Weights in bf16 have three significant decimal digits; they are converted to fp32 when they are loaded.

    Args:
        run: The run folder, which is not changed.
        out: The new folder; may exist if it is empty.
        precision: Data type of the saved weights; None takes bf16 for sumpool and fp32 for others. Graphs of ONNX have
            no other.
        format_: "safetensors" for sumpool, "onnx" for ONNX Runtime, or "huggingface" for transformers.
        report: Called before the conversion to ONNX, which takes half a minute.
        check: Called between files.

    Raises:
        CheckpointError: If the run folder has no model or no model card, a file is damaged, or the model cannot be
            converted.
        RecipeError: If the new folder is not empty, the format has no such precision, or its libraries are missing.
        ResourceError: If the disk is full or fails.
        Interrupted: If a signal has come; nothing is written.
    """
    require_new(out)
    if format_ == "onnx":
        require_onnx()
        if precision == "bf16":
            raise RecipeError("--precision must be fp32 with --format onnx, got bf16")
    # 1. Load the model, which verifies the run folder.
    loaded = load_model(run)
    loaded.model.cpu()
    require_own(run, CARD)
    if not (run / CARD).is_file():
        raise CheckpointError(f"{run} must have {CARD}, its model card, but its training has not ended; let it go on")
    # 2. Fill a folder that appears when it is complete.
    with told_when_stopped("nothing was exported"), new_folder(out) as new:
        if format_ == "huggingface":
            tokenizer, summarize = loaded.tokenizer, loaded.recipe.summarize
            if not isinstance(tokenizer, HuggingFaceTokenizer):
                raise CheckpointError(
                    "--format huggingface must have a model with a tokenizer of Hugging Face, got a learnt one in "
                    f"{run}; export it as safetensors or onnx"
                )
            dtype = torch.bfloat16 if precision == "bf16" else torch.float32
            family = save_pretrained(new, loaded.model, summarize, loaded.lengths, tokenizer, dtype)
            (new / CARD).write_text(transformers_card(loaded.recipe, run, loaded.model, family), "utf-8")
            check()
            return out
        ranker = [RANKER] if format_ == "safetensors" else []
        for name in (RECIPE, *TOKENIZER_FILES, REPORT, *ranker, CARD):
            if (run / name).is_file():
                check()
                shutil.copyfile(run / name, new / name)
        if format_ == "onnx":
            report(Progress("export", note="convert encoder and decoder to ONNX, and compare them with the model"))
            section = onnx_section(run, loaded.model, convert(loaded.model, new))
            check()
            check_graphs(loaded.model, new)
            with (new / CARD).open("a", encoding="utf-8") as card:
                card.write(section)
        files = {path.name: FileDigest.of(path) for path in sorted(new.iterdir()) if path.name != CARD}
        Manifest(files, {"exported": Manifest.read(run).facts}).write(new)
        if format_ == "safetensors":
            check()
            export(new, loaded.model if precision == "fp32" else loaded.model.to(torch.bfloat16), {})
        check()
    return out
