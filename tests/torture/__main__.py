"""The figures of reliability in one table: `python -m tests.torture [ID ...] [--scale FACTOR] [--markdown FILE]`."""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.torture.figures import Figure, figures

_HEAD = "| id | figure | measured | cases | seconds | met |\n|---|---|---|---|---|---|\n"


def main() -> int:
    """Measure figures, print a row for each, and return 1 if one is not met."""
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=main.__doc__)
    parser.add_argument("id", nargs="*", help="identifiers, such as B1; all by default")
    parser.add_argument("--scale", type=float, default=1.0, help="factor of the counts of a night")
    parser.add_argument("--markdown", type=Path, help="file for the table")
    options = parser.parse_args()
    known = figures()
    selected = [figure for figure in known if not options.id or figure.ID in options.id]
    missing = set(options.id) - {figure.ID for figure in selected}
    if missing:
        parser.error(f"id must be one of {', '.join(figure.ID for figure in known)}, got {', '.join(sorted(missing))}")
    rows = []
    all_met = True
    for figure in selected:
        row, is_met = _measure(figure, max(1, round(figure.NIGHT * options.scale)))
        sys.stdout.write(f"{row}\n")
        sys.stdout.flush()
        rows.append(row)
        all_met &= is_met
        if options.markdown:
            options.markdown.write_text(_HEAD + "\n".join(rows) + "\n", "utf-8")
    return 0 if all_met else 1


def _measure(figure: Figure, count: int) -> tuple[str, bool]:
    """Return the row of a figure, and whether it is met."""
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        measured = figure.measure(count, Path(folder))
    seconds = time.perf_counter() - start
    cells = (
        figure.ID,
        figure.FIGURE,
        measured.text,
        f"{measured.cases:,}",
        f"{seconds:,.0f}",
        "yes" if measured.is_met else "**no**",
    )
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |", measured.is_met


if __name__ == "__main__":
    sys.exit(main())
