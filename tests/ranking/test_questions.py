from sumpool.core.decoding.length_limits import LengthTarget
from sumpool.documents.document import Document, ParsedDocument, TextBlock, TextBlockKind
from sumpool.documents.source_sentences import source_sentences
from sumpool.ranking.candidates import CandidateSentence, find_candidates
from sumpool.ranking.questions import answers, asked, is_faq, is_question, with_question, with_questions
from sumpool.ranking.sentence_selector import SentenceSelector
from sumpool.text.sentences import SentenceSplitter

QUESTIONS = [f"How do I configure the gateway number {index}?" for index in range(4)]


def faq(kind: TextBlockKind = "heading", *others: TextBlock) -> Document:
    blocks = [block for text in QUESTIONS for block in (TextBlock(text, kind), TextBlock(ANSWER), TextBlock(OTHER))]
    return Document.from_parsed("faq.html", ParsedDocument((*blocks, *others)))


ANSWER = "To configure a gateway you edit the file that it reads at the start."
OTHER = "The easiest of all methods is a graphical program that asks for names."


def test_titles_and_questions_tell_a_faq() -> None:
    assert is_faq(faq(), "")
    headings = [TextBlock(f"Section {index}", "heading") for index in range(9)]
    assert not is_faq(faq("heading", *headings), "")
    assert is_faq(faq("heading", *headings), "Frequently asked questions")
    assert not is_faq(Document.from_parsed("faq", ParsedDocument((TextBlock("Why?", "heading"),))), "FAQ")
    assert not is_faq(faq("paragraph"), "FAQ")
    labelled = [TextBlock(f"Q: {text}") for text in QUESTIONS]
    assert is_faq(Document.from_parsed("notes.txt", ParsedDocument(tuple(labelled))), "")


def test_questions_are_short_or_marked() -> None:
    assert is_question("Why?")
    assert is_question("Q: Why not")
    assert not is_question("Because.")
    assert not is_question("why " * 40 + "?")


def test_questions_in_lists_become_headings() -> None:
    document = faq("list_item")
    sentences = with_questions(document, source_sentences(document, SentenceSplitter.default()))
    assert [sentence.text for sentence in sentences if sentence.kind == "heading"] == QUESTIONS


def test_answers_that_need_their_question_are_no_candidates() -> None:
    document = faq("list_item")
    candidates = find_candidates(document, source_sentences(document, SentenceSplitter.default()), "en", "questions")
    assert {candidate.text for candidate in candidates} == {ANSWER}


def test_few_readable_answers_keep_all() -> None:
    items = [CandidateSentence(text, index, index, QUESTIONS[0]) for index, text in enumerate((ANSWER, OTHER))]
    assert answers(items, "") == items
    assert answers([items[0], *items], "") == [items[0], items[0]]


def test_an_answer_follows_its_question() -> None:
    for heading, question in [
        ("Why is the host slow?", "Why is the host slow?"),
        ("Q: Why is it slow, etc. and not fast?", "Why is it slow, etc. and not fast?"),
        ("Q3. Why?", "Why?"),
        ("1.2. Why is 1.5 s slow?", "Why is 1.5 s slow?"),
        ("Gateways", ""),
    ]:
        answer = CandidateSentence(ANSWER, 0, 0, heading)
        assert asked(answer) == question
        assert with_question(answer).text == f"{question} {ANSWER}".strip()


def test_summaries_of_lists_of_questions_ask_them_once() -> None:
    more = "A gateway that you configure once more starts when its file has changed."
    slow = "The gateway is slow where the birds of all towers sing to its hosts."
    blocks = (
        TextBlock(QUESTIONS[0], "heading"),
        TextBlock(f"{ANSWER} {more}"),
        TextBlock("Q: Why is the gateway slow?", "heading"),
        TextBlock(slow),
        *(TextBlock(text, "heading") for text in QUESTIONS[1:]),
    )
    document = Document.from_parsed("faq.html", ParsedDocument(blocks))
    sentences = source_sentences(document, SentenceSplitter.default())
    selected = SentenceSelector().select(document, sentences, "en", 90)
    assert selected == [(1, f"{QUESTIONS[0]} {ANSWER}"), (2, more), (4, f"Why is the gateway slow? {slow}")]
    target = LengthTarget(3, True, 99)
    selected = SentenceSelector().select(document, sentences, "en", 90, target=target)
    assert [text for _, text in selected] == [ANSWER, more, slow]
