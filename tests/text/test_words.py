import pytest

from sumpool.text.words import ContentWords


@pytest.mark.parametrize(
    ("language", "text", "words"),
    [
        ("en", "The hosts are sending x packets.", ["host", "send", "packet"]),
        ("de", "Die Rechner und die Pakete", ["rechn", "pak"]),
        ("ru", "Узлы посылают пакеты в сеть", ["узл", "посыла", "пакет", "сет"]),
        ("zh", "主机发送 packets 包", ["主机", "机发", "发送", "包", "packets"]),
        ("ja", "ホスト", ["ホス", "スト"]),
        ("xx", "The hosts", ["the", "hosts"]),
        ("en", "", []),
    ],
)
def test_content_words_are_stemmed(language: str, text: str, words: list[str]) -> None:
    assert ContentWords(language)(text) == words
