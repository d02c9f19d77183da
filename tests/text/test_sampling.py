from sumpool.text.cleaning import sample_paragraphs


def test_short_streams_are_kept_in_order() -> None:
    assert sample_paragraphs(["a\n\nb", "c"], 10, 100) == ["a", "b", "c"]


def test_long_streams_are_sampled_uniformly_and_repeatably() -> None:
    texts = [str(number) for number in range(10_000)]
    first = sample_paragraphs(iter(texts), 100, 100)
    assert first == sample_paragraphs(iter(texts), 100, 100)
    assert len(set(first)) == 100
    assert min(map(int, first)) < 1000
    assert max(map(int, first)) > 9000


def test_long_paragraphs_become_several_lines() -> None:
    words = " ".join(f"word{number}" for number in range(500))
    lines = sample_paragraphs([words, "x" * 250], 1000, 100)
    assert max(map(len, lines)) <= 100
    assert "".join(lines).replace(" ", "") == words.replace(" ", "") + "x" * 250
