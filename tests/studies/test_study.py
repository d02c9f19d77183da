from sumpool.bench.results import Column, Row
from sumpool.studies.study import make_table


def test_facts_and_columns_fill_a_table() -> None:
    facts = {"documents": 3, "mean_sentences": 4.26}
    table = make_table(
        "kept", [Row({"sentences": 1, "x": 0.5})], facts, columns=[Column("layer x", "x", ".2f")], notes=["more"]
    )
    assert table.headings() == ["sentences", "layer x"]
    assert table.cells() == [("1", "0.50")]
    assert table.notes[0].startswith("mean over tokens and 3 validation documents of 4.3 sentences")
    assert table.notes[1] == "more"
