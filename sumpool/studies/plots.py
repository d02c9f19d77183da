"""Pictures of studies."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from sumpool.bench import plots
from sumpool.bench.plots import Panel, points
from sumpool.bench.results import BenchReport, Result, unique, where
from sumpool.errors import RecipeError
from sumpool.studies.approximation import APPROXIMATIONS
from sumpool.studies.depth import MODELS
from sumpool.studies.operators import LOOP, NEVER, SORTED, SUMS
from sumpool.studies.selection import APPROXIMATE
from sumpool.studies.shortening import PUBLISHED
from sumpool.studies.sparsity import MODES

_MOST_KEPT = 5
"""Numbers kept, at most, that are drawn."""


def require_plots(study: str, path: Path) -> None:
    """Make sure, before anything is measured, that there will be a picture.

    Raises:
        RecipeError: If the study has none, or it cannot be written.
    """
    if study not in _PANELS:
        raise RecipeError(f"--plot must go with one of {', '.join(_PANELS)}, got {study}")
    plots.require_plots(path)


def draw(report: BenchReport, path: Path) -> None:
    """Draw the report of a study as a PNG; needs no display."""
    panels = [*_PANELS[report.suite](report.result, report.settings["study"])]
    plots.draw(panels, path, 1 if len(panels) < 4 else 2)


def _operators(result: Result, settings: Mapping[str, Any]) -> Iterator[Panel]:
    """Figures 5 and 6 of Pietruszka et al. side by side."""
    rows = result.rows["operators"]
    lengths = {keep: len(unique(where(rows, {"keep": keep}), "length")) for keep in unique(rows, "keep")}
    kept = sorted(keep for keep, count in lengths.items() if count > 1) or sorted(lengths)  # one point is no line
    chosen = [
        (operator, keep) for operator in (SORTED, NEVER, LOOP, SUMS) for keep in kept[:: -(-len(kept) // _MOST_KEPT)]
    ]
    for name, title in (
        ("fastest", f"seconds of a batch of {settings['batch']}"),
        ("similarity", "similarity to exact top-k (nCCS)"),
    ):
        lines = {
            (f"keep {keep:,}", operator): points(rows, {"operator": operator, "keep": keep}, "length", name)
            for operator, keep in chosen
        }
        yield Panel(title, "vectors", lines, log=name == "fastest")


def _shortening(result: Result, _: Mapping[str, Any]) -> Iterator[Panel]:
    """Figure 5 of Nawrot et al.: time and memory in proportion to no shortening."""
    for index, cost in enumerate(("time", "memory")):
        published = [(factor, both[index]) for factor, both in PUBLISHED.items()]
        measured = points(result.rows["shortening"], {}, "factor", f"{cost}_ratio")
        lines = {("measured", ""): measured, ("published", ""): published}
        yield Panel(f"{cost} of a training step / no shortening", "shortening factor", lines)


def _depth(result: Result, settings: Mapping[str, Any]) -> Iterator[Panel]:
    """Figure 4 of Pietruszka et al., for each length."""
    for length in unique(result.rows["depth"], "length"):
        measured = where(result.rows["depth"], {"length": length})
        lines = {(name, ""): points(measured, {"model": name}, "layers", "median") for name in MODELS}
        yield Panel(f"seconds of a training step, {length:,} tokens, batch {settings['batch']}", "layers", lines)


def _selection(result: Result, settings: Mapping[str, Any]) -> Iterator[Panel]:
    """Speed-up of a step over full attention, and seconds of a whole generation."""
    steps, generations = result.rows["steps"], result.rows["generations"]
    lines = {
        (f"{count} sentences", f"{kind} hypotheses"): points(
            steps, {"selection": APPROXIMATE, "sentences": count, "independent": value}, "length", "speedup"
        )
        for count in settings["sentences"]
        for value, kind in ((False, "similar"), (True, "independent"))
    }
    yield Panel("a step of one layer: times faster than full (approximate)", "source tokens", lines)
    names = unique(generations, "selection")
    whole = {(name, ""): points(generations, {"selection": name}, "length", "total") for name in names}
    title = f"{settings['generate']} tokens, {settings['generate_sentences']} sentences: seconds"
    yield Panel(title, "source tokens", whole)


def _sparsity(result: Result, settings: Mapping[str, Any]) -> Iterator[Panel]:
    """Figure 1 of Manakul and Gales, and the times that Table 1 is fitted to."""
    kept = {(f"layer {row['layer']}", ""): [*enumerate(row["kept"], 1)] for row in result.rows["layers"]}
    yield Panel(f"attention that the best sentences hold, {result.facts['documents']} documents", "sentences", kept)
    times = {(mode, ""): points(result.rows["times"], {"mode": mode}, "target", "fastest") for mode in MODES}
    yield Panel(f"seconds, {settings['length']:,} source tokens", "summary tokens", times, log=True)


def _approximation(result: Result, _: Mapping[str, Any]) -> Iterator[Panel]:
    """Error by features at the greatest length, and by length at the most features that every length exceeds."""
    rows = result.rows["approximation"]
    for weights in unique(rows, "weights"):
        measured = where(rows, {"weights": weights})
        lengths, features = unique(measured, "length"), unique(measured, "features")
        # With as many features as tokens some are exact, and only rounding would be seen.
        most = max([count for count in features if count < min(lengths)], default=min(features))
        for x, axis, fixed in (
            ("features", "features", {"length": max(lengths)}),
            ("length", "tokens", {"features": most}),
        ):
            lines = {
                (name, ""): points(measured, {"approximation": name, **fixed}, x, "error") for name in APPROXIMATIONS
            }
            title = ", ".join(f"{value:,} {'tokens' if name == 'length' else name}" for name, value in fixed.items())
            yield Panel(f"spectral error, {weights} weights, {title}", axis, lines, log=True)


_PANELS: Mapping[str, Callable[[Result, Mapping[str, Any]], Iterator[Panel]]] = {
    "operators": _operators,
    "depth": _depth,
    "shortening": _shortening,
    "selection": _selection,
    "sparsity": _sparsity,
    "approximation": _approximation,
}
"""Panels of each study that has a picture."""
