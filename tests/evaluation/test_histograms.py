import re
from xml.etree import ElementTree

from sumpool.evaluation.html_report import histogram


def test_bars_count_the_values() -> None:
    image = ElementTree.fromstring(histogram("ROUGE-1", [0.0, 1.0, 1.5, 99.0], top=100))
    bars = [bar for bar in image.iter("rect")]
    assert [float(bar.attrib["height"]) for bar in bars] == [120.0, 40.0]
    assert [float(bar.attrib["x"]) for bar in bars] == [0.0, 304.0]
    assert image.attrib["aria-label"] == "ROUGE-1: 4 documents, mean 25, highest bar 3 documents"
    assert [text.text for text in image.iter("text")] == ["0", "100"]


def test_another_system_is_an_outline_on_the_same_scale() -> None:
    markup = histogram("ROUGE-1", [1.0, 2.0], [99.0, 98.0, 97.0, 96.0], top=100)
    assert 'height="60.0"' in markup
    assert re.search(r'class="outline" d="M0 120H0.0V120.0.*H304.0V0.0H320V120"', markup)
    assert "outline" not in histogram("ROUGE-1", [1.0])


def test_labels_are_escaped_and_empty_data_drawn() -> None:
    image = ElementTree.fromstring(histogram('<b>"&', [], unit=" <words>"))
    assert image.attrib["aria-label"].startswith('<b>"&: 0 documents')
    assert not list(image.iter("rect"))
