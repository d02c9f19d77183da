from pathlib import Path

from sumpool.documents.document import DEFAULT_OPTIONS
from sumpool.documents.formats.rst import parse
from sumpool.documents.worker import WORKERS


def blocks(text: str) -> list[tuple[str, int, str]]:
    return [
        (block.kind, block.level, block.text) for block in parse(text.encode(), DEFAULT_OPTIONS).blocks if block.text
    ]


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
        assert blocks(f"{markup}\n\n.. |name| replace:: Birds\n") == [("paragraph", 0, text)]


def test_headings_have_the_level_of_their_style() -> None:
    text = "=====\nTitle\n=====\n\nOne\n===\n\nTwo\n---\n\nThree\n=====\n\n----\n\nText.\n"
    assert blocks(text) == [
        ("heading", 1, "Title"),
        ("heading", 2, "One"),
        ("heading", 3, "Two"),
        ("heading", 2, "Three"),
        ("paragraph", 0, "Text."),
    ]


def test_directives_keep_their_text() -> None:
    text = """
.. toctree::
   :maxdepth: 2

   other

.. function:: run(a)
   :module: x

   Run it.

   .. versionchanged:: 3.2
      It runs faster.

.. topic:: Birds

   They sing.

.. figure:: bird.png
   :width: 10

   A bird.

.. note::
   A first line
   and a second.

.. list-table:: Of birds
   :header-rows: 1

   * - Name
     - Song
   * - Tit
     - short

.. csv-table::

   "a", "b, c"

.. [1] A footnote.

.. unknown:: argument

   Its text.
"""
    assert blocks(text) == [
        ("code", 0, "run(a)"),
        ("paragraph", 0, "Run it."),
        ("paragraph", 0, "It runs faster."),
        ("heading", 1, "Birds"),
        ("paragraph", 0, "They sing."),
        ("caption", 0, "A bird."),
        ("paragraph", 0, "A first line and a second."),
        ("caption", 0, "Of birds"),
        ("table_row", 0, "Name | Song"),
        ("table_row", 0, "Tit | short"),
        ("table_row", 0, "a | b, c"),
        ("paragraph", 0, "A footnote."),
        ("code", 0, "argument"),
        ("paragraph", 0, "Its text."),
    ]


def test_lists_fields_and_literals_are_apart() -> None:
    text = """
1. One
   goes on.

   Its second paragraph.
2. Two

-v, --verbose  Be loud.

:param x: A number.

| A line
| and another

Code::

    x = [
      1]

A paragraph that
- is no list.

__ https://example.com
"""
    assert blocks(text) == [
        ("list_item", 1, "One goes on."),
        ("list_item", 1, "Its second paragraph."),
        ("list_item", 1, "Two"),
        ("list_item", 1, "-v, --verbose"),
        ("paragraph", 0, "Be loud."),
        ("notice", 0, "param x: A number."),
        ("paragraph", 0, "A line"),
        ("paragraph", 0, "and another"),
        ("paragraph", 0, "Code:"),
        ("code", 0, "x = [\n  1]"),
        ("paragraph", 0, "A paragraph that - is no list."),
    ]


def test_lines_are_those_of_the_source() -> None:
    parsed = parse(b"Title\n=====\n\n- a\n\n  b\n\n+---+\n| c |\n+---+\n", DEFAULT_OPTIONS)
    assert parsed.title == "Title"
    assert [block.line for block in parsed.blocks] == [1, 4, 6, 9]


def test_a_heading_after_prose_is_no_title() -> None:
    parsed = parse(b"The composer is a library for packets.\n\nUsage\n=====\n\nText.\n", DEFAULT_OPTIONS)
    assert parsed.title == ""


def test_a_mark_above_running_text_is_no_item() -> None:
    """As in docutils, where the text of an item is indented below its mark."""
    assert [kind for kind, _, _ in blocks("- the sum of all\nparts of it.\n")] == ["paragraph"]
    assert [kind for kind, _, _ in blocks("- the sum\n- the parts\n")] == ["list_item", "list_item"]
    assert blocks("- the sum\n:index:`parts`\n") == [("paragraph", 0, "the sum")]


def test_unknown_directives_options_and_roles_keep_their_text() -> None:
    text = """
.. card:: A title
   :shadow: none

   Its :whatever:`text <there>`.

.. py:function:: run(a)

   Run it.

.. code-block:: python
   :emphasize-lines: 2
   :unheard-of: yes

   x = 1

.. note::
   :unheard-of: yes

   Read this.

.. deprecated:: 3.2 Use the other.

.. seealso:: The handbook of
   gateways.

A *broken role :ref:`x.
"""
    assert blocks(text) == [
        ("code", 0, "A title"),
        ("paragraph", 0, "Its text."),
        ("code", 0, "run(a)"),
        ("paragraph", 0, "Run it."),
        ("code", 0, "x = 1"),
        ("paragraph", 0, "Read this."),
        ("paragraph", 0, "Use the other."),
        ("paragraph", 0, "The handbook of gateways."),
        ("paragraph", 0, "A *broken role :ref:`x."),
    ]


def test_other_files_are_not_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("secret words")
    directives = ("include", "literalinclude", "csv-table::\n   :file", "raw:: html\n   :file", "figure")
    text = "\n\n".join(f".. {name}:: {secret}" for name in directives)
    assert "secret words" not in repr(blocks(f"{text}\n\nText."))
    assert ("paragraph", 0, "Text.") in blocks(f"{text}\n\nText.")


def test_replacements_of_replacements_stay_small() -> None:
    definitions = "\n".join(f".. |s{number}| replace:: |s{number + 1}| |s{number + 1}|" for number in range(60))
    assert len(repr(blocks(f"|s0| here.\n\n{definitions}\n"))) < 100


def test_deep_nesting_is_refused() -> None:
    (document,) = WORKERS.read("a", "it", ".rst", b"- " * 5_000 + b"x", DEFAULT_OPTIONS)
    assert document.error == "it must be nested less deeply, got more levels than can be read"


def test_the_language_of_examples_is_no_text() -> None:
    assert blocks("Ships\n=====\n\n.. highlight:: rest\n\nThey wait.\n")[1:] == [("paragraph", 0, "They wait.")]
