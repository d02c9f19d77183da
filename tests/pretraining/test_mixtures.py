import json
from collections.abc import Iterable, Mapping
from pathlib import Path

import mixtures


def test_mixtures_have_rfcs_and_other_texts(tmp_path: Path) -> None:
    for split in ("train", "validation"):
        rfc = [{"id": f"{split}{index}", "document": "An RFC.", "summary": "RFC.", "more": 1} for index in range(9)]
        write(tmp_path / "rfc" / split / "texts.jsonl", rfc)
        text = {"id": f"{split}/aio#0", "title": "", "document": "Prose.", "package": "manpages"}
        write(tmp_path / "corpus" / f"{split}.jsonl", [text])
    for kind, packages in (("manuals", 40), ("proposals", 1)):
        rows = [
            {"id": str(index), "document": "A page.", "summary": "Page.", "package": f"p{index % packages}"}
            for index in range(80)
        ]
        write(tmp_path / "outside" / kind / "development.jsonl", rows)
    folders = {"rfc": "rfc", "corpus": "corpus", "outside": "outside"}
    options = [option for name, folder in folders.items() for option in (f"--{name}", str(tmp_path / folder))]
    mixtures.main([str(tmp_path / "out"), *options])
    found = {file.stem: [*map(json.loads, file.read_text().splitlines())] for file in (tmp_path / "out").iterdir()}
    assert {row["id"] for row in found["documentation-train"]} == {"train/aio#0", *(f"train{n}" for n in range(9))}
    assert [row["id"] for row in found["documentation-validation"]] == [
        "validation/aio#0",
        "validation0",
        "validation8",
    ]
    assert len(found["kinds-validation"]) == 9
    held_out = {row["id"] for row in found["held-out"]}
    copies = [row["id"] for row in found["kinds-train"] if "#" in row["id"]]
    assert len(copies) == 2 * (160 - len(held_out))
    assert not held_out & {name.partition("#")[0] for name in copies}
    for kind in ("manuals", "proposals"):
        assert 5 < sum(name.startswith(kind) for name in held_out) < 40
    manuals = {int(name.partition("/")[2]) for name in held_out if name.startswith("manuals")}
    assert {index % 40 for index in manuals} == {index - 40 for index in manuals if index >= 40}  # all of a package


def write(file: Path, rows: Iterable[Mapping[str, object]]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
