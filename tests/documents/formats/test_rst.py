from sumpool.documents.document import DEFAULT_OPTIONS
from sumpool.documents.worker import WORKERS
from tests.documents.formats.conftest import outline, read


def test_blocks() -> None:
    for text, expected in [
        (
            "=====\nTitle\n=====\n\nOne\n===\n\nTwo\n---\n\nThree\n=====\n\n----\n\nText.\n",
            ["h1 Title", "h2 One", "h3 Two", "h2 Three", "p Text."],
        ),
        ("1. One\n   goes on.\n\n   Its second.\n2. Two\n", ["li1 One goes on.", "li1 Its second.", "li1 Two"]),
        ("- the sum\n- the parts\n", ["li1 the sum", "li1 the parts"]),
        # as in docutils, the text of an item is indented below its mark
        ("- the sum of all\nparts of it.\n", ["p the sum of all parts of it."]),
        ("- the sum\n:index:`parts`\n", ["p the sum"]),
        ("A paragraph that\n- is no list.\n", ["p A paragraph that - is no list."]),
        ("-v, --verbose  Be loud.\n", ["li1 -v, --verbose", "p Be loud."]),
        (":param x: A number.\n", ["notice param x: A number."]),
        ("| A line\n| and another\n", ["p A line", "p and another"]),
        ("Code::\n\n    x = [\n      1]\n", ["p Code:", "code x = [\n  1]"]),
        ("Text.\n\n__ https://example.com\n", ["p Text."]),
        (".. [1] A footnote.\n", ["p A footnote."]),
        ("A *broken role :ref:`x.\n", ["p A *broken role :ref:`x."]),
    ]:
        assert outline("rst", text) == expected


def test_directives_keep_their_text() -> None:
    for text, expected in [
        (".. toctree::\n   :maxdepth: 2\n\n   other\n", []),
        (".. function:: run(a)\n   :module: x\n\n   Run it.\n", ["code run(a)", "p Run it."]),
        (".. py:function:: run(a)\n\n   Run it.\n", ["code run(a)", "p Run it."]),
        (".. function:: run(a)\n\n   .. versionchanged:: 3.2\n      It is fast.\n", ["code run(a)", "p It is fast."]),
        (".. topic:: Birds\n\n   They sing.\n", ["h1 Birds", "p They sing."]),
        (".. figure:: bird.png\n   :width: 10\n\n   A bird.\n", ["caption A bird."]),
        (".. note::\n   A first line\n   and a second.\n", ["p A first line and a second."]),
        (".. note::\n   :unheard-of: yes\n\n   Read this.\n", ["p Read this."]),
        (
            ".. list-table:: Of birds\n   :header-rows: 1\n\n   * - Name\n     - Song\n   * - Tit\n     - short\n",
            ["caption Of birds", "row Name | Song", "row Tit | short"],
        ),
        ('.. csv-table::\n\n   "a", "b, c"\n', ["row a | b, c"]),
        (".. unknown:: argument\n\n   Its text.\n", ["code argument", "p Its text."]),
        (".. card:: A title\n   :shadow: none\n\n   Its :any:`text <there>`.\n", ["code A title", "p Its text."]),
        (".. code-block:: python\n   :emphasize-lines: 2\n   :unheard-of: yes\n\n   x = 1\n", ["code x = 1"]),
        (".. deprecated:: 3.2 Use the other.\n", ["p Use the other."]),
        (".. seealso:: The handbook of\n   gateways.\n", ["p The handbook of gateways."]),
        (".. highlight:: rest\n\nThey wait.\n", ["p They wait."]),
    ]:
        assert outline("rst", f"Before.\n\n{text}\nBehind.\n") == ["p Before.", *expected, "p Behind."]


def test_inline_markup_is_reduced_to_its_text() -> None:
    for markup, text in [
        ("a ``b_ *c*`` d", "a b_ *c* d"),
        ("see :class:`~email.message.Message`", "see Message"),
        (":py:func:`!run` and :ref:`the part <part>`", "run and the part"),
        (":pep:`8` and :abbr:`LIFO (last in)`", "PEP 8 and LIFO (last in)"),
        ("`the page <https://example.com>`__ and `other`_.", "the page and other."),
        ("a word_ and snake_case_name, python_.", "a word and snake_case_name, python."),
        ("text [1]_ and [#note]_, [Doe99]_", "text and, [Doe99]"),
        ("**strong** and *weak* but 2 * 3 * 4", "strong and weak but 2 * 3 * 4"),
        ("|name| version", "Birds version"),
        (r"thing\ s and \*", "things and *"),
        ("`text`:sub:", "text"),
    ]:
        assert outline("rst", f"{markup}\n\n.. |name| replace:: Birds\n") == [f"p {text}"]


def test_lines_are_those_of_the_source_and_a_heading_after_prose_is_no_title() -> None:
    parsed = read("rst", "Title\n=====\n\n- a\n\n  b\n\n+---+\n| c |\n+---+\n")
    assert parsed.title == "Title"
    assert [block.line for block in parsed.blocks] == [1, 4, 6, 9]
    assert read("rst", "The composer is a library for packets.\n\nUsage\n=====\n\nText.\n").title == ""


def test_replacements_of_replacements_stay_small() -> None:
    definitions = "\n".join(f".. |s{number}| replace:: |s{number + 1}| |s{number + 1}|" for number in range(60))
    assert len(repr(outline("rst", f"|s0| here.\n\n{definitions}\n"))) < 100


def test_deep_nesting_is_refused() -> None:
    (document,) = WORKERS.read("a", "it", ".rst", b"- " * 5_000 + b"x", DEFAULT_OPTIONS)
    assert document.error == "it must be nested less deeply, got more levels than can be read"
