"""`sumpool study segments`: the segments of a language model on a document (Nawrot et al., 2023, Figure 2).

The picture has the entropy of the next token at every token of the text, and a line after the last token of each
segment. Boundaries are those that the model pools by: of `entropy` they are predicted without the next token, so that
they follow the peaks of the entropy but are not all of them.
"""

import io
from importlib.util import find_spec
from pathlib import Path
from textwrap import wrap

import torch

from sumpool.documents.read import read_documents
from sumpool.errors import DataError, RecipeError
from sumpool.io.atomic import disk_errors, replace_file
from sumpool.io.replaceable import require_unlisted
from sumpool.progress import Progress, Report, no_op
from sumpool.special_tokens import UNK
from sumpool.tasks.language_modeling.evaluate import load_language_model, segments_of
from sumpool.tasks.language_modeling.measures import bits
from sumpool.tasks.language_modeling.running_text import normalizer

MOST_TOKENS = 512
"""Tokens of the document that are read."""
_LINE = 64
"""Tokens of a line of the picture."""
_SHOWN = {" ": "␣", "\n": "↵", "\t": "⇥"}


def study_segments(run: Path | None, document: str, path: Path | None, report: Report = no_op) -> tuple[str, ...]:
    """Divide the first tokens of a document into the segments of a language model, and draw them.

    Args:
        run: The run folder; None takes the newest run of a language model.
        document: File of the document.
        path: PNG of the picture; None draws none.
        report: Called with a note on characters that the vocabulary lacks.

    Returns:
        Consecutive segments; the last one may be unfinished.

    Raises:
        RecipeError: If the picture cannot be written, or matplotlib is missing.
        DataError: If the document cannot be read or is empty.
        CheckpointError: If the run is no language model, or damaged.
    """
    if path:
        if path.suffix != ".png" or not path.parent.is_dir():
            raise RecipeError(f"--plot must name a .png file in a folder that is there, got {path}")
        require_unlisted(path)
        if find_spec("matplotlib") is None:
            raise RecipeError("--plot must have matplotlib, which is not installed: pip install 'sumpool[plots]'")
    loaded = load_language_model(run)
    read = next(iter(read_documents(document)))
    if read.error or not read.text.strip():
        raise DataError(read.error or f"{document} must have text, got none")
    clean = loaded.recipe.data.clean
    ids = loaded.tokenizer.encode_batch([normalizer(clean)(read.text) if clean else read.text])[0]
    if unknown := ids.count(UNK):
        report(Progress("segments", note=f"{unknown:,} characters of the document are not in the vocabulary"))
    row = torch.tensor([ids[: min(MOST_TOKENS, loaded.recipe.model.length)]], device=loaded.device)
    if path:
        mask = torch.ones_like(row, dtype=torch.bool)
        with torch.inference_mode():
            log_probs = loaded.model.logits(row, mask).double().log_softmax(2)[0]
            entropies = [bits(nats) for nats in (-(log_probs.exp() * log_probs).sum(1)).tolist()]
            ends = loaded.model.boundaries_of(row, mask)[0].tolist()
        vocabulary = loaded.tokenizer.token_bytes()
        tokens = [vocabulary[token].decode("utf-8", "replace") for token in row[0].tolist()]
        _draw(tokens, entropies, ends, path)
    return segments_of(loaded, row[0].cpu().numpy())


def _draw(tokens: list[str], entropies: list[float], ends: list[bool], path: Path) -> None:
    """Draw the entropy in lines of `_LINE` tokens, each token below its point."""
    from matplotlib.figure import Figure

    starts = range(0, len(tokens), _LINE)
    figure = Figure(figsize=(11, 0.4 + 0.85 * len(starts)), dpi=100, layout="constrained")
    labels, families = _labels(tokens)
    for axes, start in zip(figure.subplots(len(starts), 1, squeeze=False).flat, starts, strict=True):
        places = range(min(_LINE, len(tokens) - start))
        axes.plot(places, entropies[start : start + _LINE], color="#0072b2", linewidth=1)
        for place in places:
            if ends[start + place]:
                axes.axvline(place + 0.5, color="#d55e00", linewidth=1)
        axes.set_xticks(places, labels[start : start + _LINE], family=families)
        axes.tick_params(axis="x", length=0, labelsize=9)
        for label in axes.get_xticklabels():
            label.set_fontsize(6 if "\n" in label.get_text() else 9)
        axes.set(xlim=(-0.5, _LINE - 0.5), ylim=(0, 1.05 * max(entropies)))
    figure.supylabel("entropy of the next token, bits", fontsize=9)
    content = io.BytesIO()
    figure.savefig(content, format="png")
    with disk_errors(path):
        replace_file(path, content.getvalue())


def _labels(tokens: list[str]) -> tuple[list[str], list[str]]:
    """Return what stands for each token, and the fonts that have it; a character of no font is its code point."""
    from matplotlib import font_manager

    lacking, families = set("".join(tokens)), list[str]()
    fonts = (font for font in font_manager.fontManager.ttflist if font.style == "normal")
    for font in sorted(fonts, key=lambda font: (font.name != "DejaVu Sans", font.name)):
        characters = set(map(chr, font_manager.get_font(font.fname).get_charmap())) if lacking else set()
        if lacking & characters and "LastResort" not in font.fname:
            lacking -= characters
            families.append(font.name)
    shown = {one: "\n".join(wrap(f"{ord(one):04X}", 2)) for one in lacking} | _SHOWN
    return ["".join(shown.get(one, one) for one in token) or "?" for token in tokens], families
