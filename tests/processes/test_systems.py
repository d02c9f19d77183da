"""One table of three systems, from files as other tools write them, by one command."""

import csv
import json
from pathlib import Path

from tests.processes.installed import run

WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def test_three_systems_are_one_table(tmp_path: Path) -> None:
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
    shown = run(tmp_path, *command.split(), "GPT_me", "--set", "evaluate.resamples=1000").stdout
    assert "Ours minus other systems, on each document" in shown
    assert "p Holm" in shown
    first = [line.split() for line in shown.splitlines()[2:5]]
    assert [line[:2] for line in first] == [["all", "Ours"], ["all", "BART"], ["all", "GPT_me"]]
