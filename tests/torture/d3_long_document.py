"""A document of a million tokens, summarised by a small and by the shipped model."""

from pathlib import Path
from typing import Final

from sumpool.inference.model_choice import SHIPPED
from tests.conftest import story, write_run
from tests.torture.figures import Measured
from tests.torture.memory import peak_memory

ID: Final = "D3"
FIGURE: Final = (
    "a document of that many tokens: a summary, at most 2 GB, and at most 1.3 times the memory of a quarter of it "
    "beside the text; small and shipped model"
)
NIGHT: Final = 1_000_000
QUICK: Final = 2_000
_GROWTH = 1.3
_MEGABYTES = 2000.0
_SENTENCES = 40


def measure(count: int, folder: Path) -> Measured:
    """Summarise a document of `count` tokens and a quarter of it, each in a process of its own."""
    models = {"small": write_run(folder / "run"), **({"shipped": SHIPPED} if count > QUICK else {})}
    told, is_met = [], True
    for name, model in models.items():
        peaks, texts = [], []
        for tokens in (count // 4, count):
            document = folder / f"{tokens}.txt"
            document.write_text(_text(tokens))
            texts.append(document.stat().st_size / 2**20)
            peaks.append(_peak(document, model))
        is_met &= peaks[1] <= _MEGABYTES and peaks[1] <= _GROWTH * peaks[0] + texts[1]
        told.append(f"{name}: {peaks[0]:,.0f} MB, then {peaks[1]:,.0f} MB with {texts[1]:.1f} MB of text")
    return Measured("; ".join(told), is_met, count)


def _text(tokens: int) -> str:
    """Return paragraphs with about that many tokens, of which a word has at least one."""
    stories: list[str] = []
    words = 0
    while words < tokens:
        stories.append(story(len(stories), _SENTENCES))
        words += len(stories[-1].split())
    return "\n\n".join(stories)


def _peak(document: Path, model: Path) -> float:
    """Summarise a document, and return the peak of the process's memory in MB."""
    peak, summary = peak_memory(["summarize", str(document), "--model", str(model)])
    assert summary.strip()
    return peak
