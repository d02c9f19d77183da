from sumpool.documents.pdf.runs import Font, classify_font


def test_name_shows_the_style() -> None:
    for name, bold, italic, mono, math in [
        ("Times-Roman", False, False, False, False),
        ("Times-BoldItalic", True, True, False, False),
        ("CMR10", False, False, False, False),
        ("CMBX12", True, False, False, False),
        ("SFSX1000", True, False, False, False),
        ("CMTI10", False, True, False, False),
        ("CMTT10", False, False, True, False),
        ("IBMPlexMono-Medium", False, False, True, False),
        ("CMMI10", False, False, False, True),
        ("CMSY7", False, False, False, True),
        ("LibertinusMath-Regular", False, False, False, True),
    ]:
        assert classify_font(name) == Font(name, bold, italic, mono, math)


def test_weight_counts_where_the_name_says_nothing() -> None:
    assert classify_font("F1", weight=700).bold
    assert not classify_font("CMR10", weight=700).bold


def test_flags_of_the_descriptor_count() -> None:
    assert classify_font("Any", flags=1).mono
    assert classify_font("Any", flags=1 << 6).italic
    assert classify_font("Any", flags=1 << 18).bold
