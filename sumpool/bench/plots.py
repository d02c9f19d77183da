"""Pictures of what a suite found; matplotlib, which is optional, is imported only here and only when one is drawn."""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from sumpool.bench.models.found import FoundModels
from sumpool.bench.models.plot import draw_models
from sumpool.bench.results.result import Found
from sumpool.bench.suites.operator_rows import LOOP, NEVER, SORTED, SUMS, FoundOperators, OperatorRow
from sumpool.bench.suites.selection_rows import APPROXIMATE, FULL, FoundSelection
from sumpool.bench.suites.shortening import PUBLISHED, FoundShortening
from sumpool.bench.suites.sparsity_rows import FoundSparsity
from sumpool.errors import RecipeError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

A_MODEL = "a model"
DRAWN = (A_MODEL, "operators", "shortening", "selection", "sparsity")
"""What has a picture."""
Style = Literal["-", "--", ":", "-."]
_STYLES: Mapping[str, Style] = {SORTED: "-", NEVER: "--", LOOP: ":", SUMS: "-."}
_COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00")
"""Told apart by colour-blind readers too (Okabe and Ito)."""
_MOST_KEPT = 5
"""Numbers kept, at most, that are drawn."""


def require_plots(suite: str, path: Path) -> None:
    """Make sure, before anything is measured, that there will be a picture.

    Raises:
        RecipeError: If the suite has none, the file is no PNG, its folder is not there, or matplotlib is not installed.
    """
    if suite not in DRAWN:
        raise RecipeError(f"--plot must go with one of {', '.join(DRAWN)}, got {suite}")
    if path.suffix != ".png":
        raise RecipeError(f"--plot must name a .png file, got {path}")
    if not path.parent.is_dir():
        raise RecipeError(f"--plot must name a file in a folder that is there, got {path}")
    if find_spec("matplotlib") is None:
        raise RecipeError("--plot must have matplotlib, which is not installed: pip install 'sumpool[plots]'")


def draw(found: Found, path: Path) -> None:
    """Draw what a suite found as a PNG; needs no display."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 5.2), dpi=120, layout="constrained")
    if isinstance(found, FoundModels):
        draw_models(figure, found, _COLOURS)
    if isinstance(found, FoundOperators):
        _operators(figure, found)
    if isinstance(found, FoundShortening):
        _shortening(figure, found)
    if isinstance(found, FoundSelection):
        _selection(figure, found)
    if isinstance(found, FoundSparsity):
        _sparsity(figure, found)
    figure.savefig(path, format="png")


def _operators(figure: "Figure", found: FoundOperators) -> None:
    """Figures 5 and 6 of Pietruszka et al. side by side."""
    time, similarity = figure.subplots(1, 2)
    lengths = {keep: {row.length for row in found.operators if row.keep == keep} for _, keep in found.cells()}
    kept = sorted(keep for keep in lengths if len(lengths[keep]) > 1) or sorted(lengths)  # one point is no line
    chosen = kept[:: -(-len(kept) // _MOST_KEPT)]
    colours = dict(zip(chosen, _COLOURS, strict=False))
    names = [name for name in found.names() if name in _STYLES]
    for name in names:
        for keep in chosen:
            rows = [row for row in found.operators if (row.operator, row.keep) == (name, keep) and row.timing]
            _line(time, rows, [1000 * row.timing.fastest for row in rows if row.timing], colours[keep])
            _line(similarity, rows, [row.similarity or 0.0 for row in rows], colours[keep])
    for axes, title in (
        (time, f"time of a batch of {found.operators[0].batch}, milliseconds"),
        (similarity, "similarity to exact top-k (nCCS)"),
    ):
        axes.set_title(title)
        _octaves(axes, "vectors", sorted({row.length for row in found.operators}))
    time.set_yscale("log")
    similarity.set_ylim(0, 1.02)
    _legend(figure, {f"keep {keep:,}": colours[keep] for keep in chosen}, {name: _STYLES[name] for name in names})


def _line(axes: "Axes", rows: Sequence[OperatorRow], values: Sequence[float], colour: str) -> None:
    if rows:
        style = _STYLES[rows[0].operator]
        axes.plot([row.length for row in rows], values, style, color=colour, marker="o", markersize=3)


def _legend(figure: "Figure", colours: Mapping[str, str], styles: Mapping[str, Style]) -> None:
    """Explain colours and styles beside the axes."""
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], color=colour, label=name) for name, colour in colours.items()]
    handles += [Line2D([], [], color="black", linestyle=style, label=name) for name, style in styles.items()]
    figure.legend(handles=handles, loc="outside right upper", frameon=False)


def _octaves(axes: "Axes", name: str, places: Sequence[int]) -> None:
    """Give the horizontal axis a logarithmic scale that is labelled at every place."""
    axes.set_xscale("log", base=2)
    axes.set_xticks(places, [str(place) for place in places])
    axes.set_xlabel(name)
    axes.grid(alpha=0.3)


def _shortening(figure: "Figure", found: FoundShortening) -> None:
    """Figure 5 of Nawrot et al.: time and memory in proportion to no shortening."""
    time, memory = figure.subplots(1, 2)
    base = found.shortening[0]
    times = {
        row.factor: row.timing.median / base.timing.median for row in found.shortening if row.timing and base.timing
    }
    memories = {row.factor: row.memory / base.memory for row in found.shortening if row.memory and base.memory}
    for axes, values, place, title in (
        (time, times, 0, "time of a training step / no shortening"),
        (memory, memories, 1, "peak memory of a training step / no shortening"),
    ):
        axes.plot(list(values), list(values.values()), "-", color=_COLOURS[0], marker="o", label="measured")
        axes.plot(
            list(PUBLISHED), [both[place] for both in PUBLISHED.values()], "D", color=_COLOURS[5], label="published"
        )
        axes.set_title(title)
        axes.set_ylim(0, 1.05)
        _octaves(axes, "shortening factor", [row.factor for row in found.shortening])
    figure.legend(*time.get_legend_handles_labels(), loc="outside right upper", frameon=False)


def _selection(figure: "Figure", found: FoundSelection) -> None:
    """How many times faster a step is, and how long a whole generation takes."""
    step, whole = figure.subplots(1, 2)
    lengths = found.lengths()
    colours = dict(zip(found.sizes["sentences"], _COLOURS, strict=False))
    kinds: dict[str, Style] = {"much in common": "-", "nothing in common": "--"}
    for sentences, colour in colours.items():
        for independent, style in enumerate(kinds.values()):
            rows = [found.step(length, APPROXIMATE, sentences, bool(independent)) for length in lengths]
            full = [found.step(length, FULL, 0, bool(independent)) for length in lengths]
            faster = [base.timing.median / max(row.timing.median, 1e-9) for base, row in zip(full, rows, strict=True)]
            step.plot(lengths, faster, style, color=colour, marker="o", markersize=3)
    step.axhline(1, color="black", linewidth=0.8)
    step.set_yscale("log", base=2)
    step.yaxis.set_major_formatter("{x:g}")
    step.set_title("a step of one layer: times faster than full (approximate)")
    names = list(dict.fromkeys(row.selection for row in found.generations))
    for name, colour in zip(names, _COLOURS, strict=False):
        seconds = [found.generation(length, name).seconds for length in lengths]
        whole.plot(lengths, seconds, color=colour, marker="o", markersize=3, label=name)
    whole.set_title(f"{found.sizes['generate']} tokens, {found.sizes['generate_sentences']} sentences: seconds")
    whole.set_ylim(bottom=0)
    whole.legend(frameon=False)
    for axes in (step, whole):
        _octaves(axes, "source tokens", lengths)
    _legend(figure, {f"{sentences} sentences": colour for sentences, colour in colours.items()}, kinds)


def _sparsity(figure: "Figure", found: FoundSparsity) -> None:
    """Figure 1 of Manakul and Gales, and the times that Table 1 is fitted to."""
    kept, time = figure.subplots(1, 2)
    for number, layer in enumerate(found.layers):
        places = range(1, len(layer.kept) + 1)
        kept.plot(places, layer.kept, color=_COLOURS[number % len(_COLOURS)], label=f"layer {layer.layer}")
    kept.set_title(f"attention that the best sentences hold, {found.documents} documents")
    kept.set_xlabel("sentences")
    kept.set_ylim(0, 1.02)
    kept.set_xlim(left=1)
    targets = found.sizes["targets"]
    for mode, colour in zip(found.modes, _COLOURS, strict=False):
        one, two, three = mode.fitted.coefficients
        fitted = [1000 * (one + two * target + three * target**2) for target in targets]
        time.plot(targets, [1000 * taken for taken in mode.times], "o", color=colour, label=mode.mode)
        time.plot(targets, fitted, "-", color=colour)
    time.set_title(f"milliseconds, {found.sizes['length']:,} source tokens; lines are fitted")
    time.set_xlabel("summary tokens")
    time.set_yscale("log")
    for axes in (kept, time):
        axes.grid(alpha=0.3)
        axes.legend(frameon=False)
