import baselines
from common import Row

DOCUMENT = "Apples fall far. Hosts send datagrams to a gateway. Pears are green. Gateways send datagrams to hosts."


def test_a_table_has_a_line_per_baseline() -> None:
    row = Row("a", "", DOCUMENT, "Hosts send datagrams to a gateway.", "p", "MIT")
    lines = list(baselines.table("birds", [row, row], [3, 6]))
    assert lines[0] == "| birds | LEAD | 0.0 / 0.0 / 0.0 | 50.0 / 40.0 / 50.0 |"
    assert [line.split(" | ")[1] for line in lines] == ["LEAD", "LexRank", "TextRank", "random"]
