from sumpool.documents.pdf.blocks import Vocabulary, is_scrambled


def test_lines_are_joined() -> None:
    for context, lines, joined in [
        ("", ["a docu-", "ment of"], "a document of"),
        ("a well, known house", ["a well-", "known house"], "a well-known house"),
        ("a wellknown house, well, known", ["a well-", "known house"], "a wellknown house"),
        ("the self-made boat", ["a self-", "made boat"], "a self-made boat"),
        ("", ["the UTF-", "8 file"], "the UTF-8 file"),
        ("", ["the Anna-", "Berta house"], "the Anna-Berta house"),
        ("", ["an e-", "mail"], "an e-mail"),
        ("", ["Vor-", "und Nachteile"], "Vor- und Nachteile"),
        ("", ["soft hy\u00ad", "phens and\u00admore"], "soft hyphens andmore"),
        ("", ["see https://example.org/a/", "b.html here"], "see https://example.org/a/b.html here"),
        ("", ["see https://example.org.", "Then go"], "see https://example.org. Then go"),
        ("", ["GNU/-", "Linux"], "GNU/Linux"),
        ("", ["图应编排", "序号"], "图应编排序号"),
        ("", ["", "one", "", "two"], "one  two"),
    ]:
        assert " ".join(Vocabulary([context, *lines]).join(lines).split()) == " ".join(joined.split())


def test_divided_words_are_not_counted() -> None:
    counts = Vocabulary(["one docu-", "ment two-part"]).counts
    assert counts == {"one": 1, "two-part": 1, "two": 1, "part": 1}


def test_texts_of_fonts_without_letters_are_scrambled() -> None:
    for text, expected in [
        ("NpfPORTwLxJ_cydMO Qz^_KJHN ORqkk\u0304lRl " * 50, True),
        ("NpfPORTwLxJ_cydMO Qz^_KJHN ORqkk\u0304lRl " * 30, False),  # too short to tell
        ("Each host of a network of gateways waits, \u00e0 c\u00f4t\u00e9 des autres. " * 50, False),
        ("self.read_words(maxWords=3) returns WordCount objects and os.path.join " * 50, False),
        ("P\u2761\u2665\u275b\u2767\u2710\u2462\u2761\u275e \u2767\u2761\u275bst sq\u2709\u275br\u2761s " * 20, True),
        ("The sign \u2665 stands for hearts, and \u2709 for a letter. " * 20, False),
        ("\u672c\u624b\u518c\u63cf\u8ff0R2D2\u4e3b\u673aTCP_ip\u5982\u4f55 " * 200, False),
    ]:
        assert is_scrambled(text) is expected
