"""One table of three systems for a paper, from files as other tools write them, by one command."""

import csv
import json
import re
from pathlib import Path

from tests.processes.installed import run

WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def test_three_systems_are_one_table_for_latex(tmp_path: Path) -> None:
    references = [f"Gateways forward {word} packets to hosts of the next network." for word in WORDS]
    documents = [f"Routes are lost at times. {text} Operators restart them by hand." for text in references]
    rows = [
        {"id": str(number), "document": document, "summary": text}
        for number, (document, text) in enumerate(zip(documents, references, strict=True))
    ]
    (tmp_path / "test.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    ours = [{"id": row["id"], "prediction": row["summary"].replace("to hosts", "at once")} for row in rows]
    (tmp_path / "ours.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in reversed(ours)))
    (tmp_path / "generated_predictions.txt").write_text("".join(f"{text[:30]}\n" for text in references))
    with (tmp_path / "gpt.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("id", "prediction"), *((row["id"], row["document"][:40]) for row in rows)])
    command = "evaluate ours.jsonl generated_predictions.txt gpt.csv --references test.jsonl --as Ours --as BART --as"
    outputs = ("--latex", "table.tex", "--csv", "table.csv", "--html", "report.html")
    shown = run(tmp_path, *command.split(), "GPT_me", *outputs, "--set", "evaluate.resamples=1000").stdout
    assert "Ours minus other systems, on each document" in shown
    assert "p Holm" in shown
    table = (tmp_path / "table.tex").read_text()
    lines = [line for line in table.splitlines() if " & " in line and line.endswith(r"\\")]
    names = [line.partition(" & ")[0] for line in lines if not line.startswith("%")]
    assert names[:4] == ["System", "Ours", "BART", r"GPT\_me"]
    score = r"(?:\\textbf\{\d+\.\d\}|\d+\.\d)(?:\$\^\*\$)? \{\\scriptsize \[\d+\.\d, \d+\.\d\]\}"
    assert re.fullmatch(rf"Ours(?: & {score}){{4}} & \d+ \\\\", lines[1])
    assert lines[1].count(r"\textbf{") == 4
    assert all(line.count("$^*$") == 4 for line in lines[2:4])  # both differ from the first
    assert {row["system"] for row in csv.DictReader((tmp_path / "table.csv").read_text().splitlines())} >= {
        "Ours",
        "BART",
        "GPT_me",
    }
    assert "GPT_me" in (tmp_path / "report.html").read_text()
