from sumpool.text.words import ContentWords


def test_content_words_are_stemmed() -> None:
    for language, text, words in [
        ("en", "The hosts are sending x packets.", ["host", "send", "packet"]),
        ("de", "Die Rechner und die Pakete", ["rechn", "pak"]),
        ("ru", "Узлы посылают пакеты в сеть", ["узл", "посыла", "пакет", "сет"]),
        ("zh", "主机发送 packets 包", ["主机", "机发", "发送", "包", "packets"]),
        ("ja", "ホスト", ["ホス", "スト"]),
        ("xx", "The hosts", ["the", "hosts"]),
        ("en", "", []),
    ]:
        assert ContentWords(language)(text) == words
