from sumpool.text.citations import is_bibliography_entry, without_citations


def test_citations_are_left_out() -> None:
    for sentence, expected in [
        ("Hosts [1] send packets [2,3] to gateways [4-6].", "Hosts send packets to gateways."),
        ("The protocol [RFC2119] [RFC8174] is small.", "The protocol is small."),
        ("The protocol [SMTP], and its extension [TLS-EXT].", "The protocol, and its extension."),
        ("Numbers (GSE) [GSE] are drawn [Knuth98].", "Numbers (GSE) are drawn."),
        ('It is a "token" [3] or a name (a word) [4].', 'It is a "token" or a name (a word).'),
        ("Records ([RFC1035]) are named (see [2]).", "Records are named."),
        ("Headers ([RFC9110], Section 6.3) differ (described in [9]).", "Headers differ."),
        ("A number (CCID; [RFC4340], Section 10) is chosen.", "A number (CCID) is chosen."),
        ("Keys, as specified in [RFC5996], are long, as described in [4].", "Keys are long."),
        ("Means differ (Smith, 2003; Jones et al., 1999a).", "Means differ."),
        ("Means differ (see Bell and McCaffrey 2002, pp. 3-4), too.", "Means differ, too."),
        ("Means differ (van der Berg & Li, 2019, 2020).", "Means differ."),
    ]:
        assert without_citations(sentence) == expected


def test_other_brackets_and_what_a_sentence_needs_stay() -> None:
    for sentence, expected in [
        ("The format of [3] and [4] is defined in [X.509].", None),
        ("This document updates [RFC4233] and [BCP14].", "This document updates RFC4233 and BCP14."),
        ("[RFC5936], a draft, describes a transfer.", "RFC5936, a draft, describes a transfer."),
        ("Values in the interval [1, 5] are integers, of [0, 1] not.", None),
        ("Of a[1] the mean [sic] is taken (in 2003), and [the] rest [0.5, 2.5].", None),
        ("Intracellular [Ca2+] rises with [ATP] (March 2003) in Berlin (Germany).", None),
        ("It ran on a machine (Windows 2000) for a year (Summer 1999).", None),
        ("The option [file] and the list [a, b] are read.", None),
    ]:
        assert without_citations(sentence) == (expected or sentence)


def test_entries_of_a_bibliography_are_told_from_sentences() -> None:
    for entry in ("[RFC3415] Wijnen, B., Presuhn, R., and", '[1] Rose, M., Editor, "Management', "[Li03] Li A. 2003."):
        assert is_bibliography_entry(entry)
        assert without_citations(entry) == entry
    assert not is_bibliography_entry("[RFC5936] specifies a transfer.")
    assert not is_bibliography_entry("[1] Hosts send packets.")


def test_long_runs_take_no_quadratic_time() -> None:
    for run in ["a", "[a", "(", "[1] ", ", [1]", "; [1] x", "Smith, ", "Smith and Li, 1999; "]:
        assert without_citations("(" + run * 5_000).startswith("(")
