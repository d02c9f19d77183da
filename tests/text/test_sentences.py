# ruff: noqa: RUF001  (letters of other scripts)
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sumpool.text.sentences import (
    MAX_SENTENCE_CHARACTERS,
    SentenceSplitter,
    join,
    list_letters,
    list_mark,
    may_end_paragraph,
)

DEFAULT = SentenceSplitter()


def of(code: str, text: str) -> list[str]:
    return [sentence.strip() for sentence in SentenceSplitter(code).split(text)]


def test_a_line_feed_ends_the_last_sentence_of_a_paragraph_only() -> None:
    for text, sentences in [
        ("One\nis one. Two.\n\n \n\nThree", ["One is one.", "Two.\n", "Three\n"]),
        ("", []),
        (" ", []),
        ("\n\n", []),
        ("\u200b", []),
    ]:
        assert DEFAULT.split(text) == sentences


def test_join_is_the_inverse_of_split() -> None:
    assert join(["One.", "Two.\n", "Three.", "Four.\n"]) == "One. Two.\nThree. Four."
    assert join(["One.", "Two.\n", "Three.", "Four.\n"], paragraph="\n\n") == "One. Two.\n\nThree. Four."
    assert join([]) == ""


@given(st.text(alphabet="aB1.?!\"')( \n-,", max_size=200))
def test_no_character_is_lost(text: str) -> None:
    assert "".join("".join(DEFAULT.split(text)).split()) == "".join(text.split())


def test_endless_sentences_are_split_between_words() -> None:
    cut = DEFAULT.split("word " * 5000)
    assert len(cut) == 3
    assert all(len(sentence) <= MAX_SENTENCE_CHARACTERS + 1 for sentence in cut)
    assert {word for sentence in cut for word in sentence.split()} == {"word"}


def test_hostile_text_is_split() -> None:
    """Patterns that go back and forth would take minutes for it."""
    for unit in ("a", ".", "1.2. ", "a.)", "?!", "word\n", "x\n\n", "e\u0301", "word word. ", '."'):
        text = (unit * 40_000)[:40_000]
        assert "".join("".join(DEFAULT.split(text)).split()) == "".join(text.split()), unit


@given(st.lists(st.sampled_from(["So", "e.g.", "no.", " ", "\n", "\n\n", '"', ")", "7", "!", "x" * 4000])).map("".join))
def test_lines_are_split_at_spaces_only(text: str) -> None:
    parts = DEFAULT.split_line(text)
    assert "".join(parts) == " ".join(text.split())
    assert [part.startswith(" ") for part in parts] == [False, *[True] * (len(parts) - 1)][: len(parts)]


def test_sentences_without_a_space_between_are_joined() -> None:
    text = "He left. 他走了。So it is.\n\nThe end. So"
    assert len(DEFAULT.split(text)) == 5
    assert DEFAULT.split_line(text) == ["He left.", " 他走了。So it is.", " The end.", " So"]


@pytest.mark.parametrize(
    ("code", "sentences"),
    [
        ("", ["Dr. Smith (cf. Fig. 3) met J. R. Fox in the U.S. in 1999.", "See RFC 2119, e.g. section 3.1.", "Fine!"]),
        ("", ['He said "Hello there."', "Then he ran (fast!).", "(Really.)", "So."]),
        ("de", ["Am 3. Oktober kam z. B. der Rechner bzw. die Maschine.", "Dann ging er."]),
        ("ru", ["Это т. е. узел и т. д. в руководстве.", "Он работает."]),
        ("de", ["Das Amt zog in die Hafenstr. 12 und die Goethestr. 3 um.", "Das ist La fin."]),
        ("de", ["Unter der Hausnr. 5 der Hauptstr. entlang wohnt niemand.", "Das ist La fin."]),
        ("de", ["Die Meier GmbH & Co. KG und die Fa. Gebr. Adler & Co. KGaA zahlten.", "Das ist La fin."]),
        ("de", ["Heinrich VIII. hatte Frauen, Ludwig XVIII. war König, Friedrich II. vor ihm.", "Das ist La fin."]),
        ("de", ["Es war Friedrich II.", "Er war König.", "Er wohnt in der Hauptstr.", "Dort ist es laut."]),
        ("fr", ["Selon l'art. 12, al. 3, let. b, et l'ann. 2, ch. 4 du règl. 7, c'est permis.", "Das ist La fin."]),
        ("en", ["Wait . . . what?!", "So ...", "Really ? ? !", "Yes."]),
        ("en", ["1. The first one.", "2. The second one."]),
        ("de", ["„Wir brauchen das Haus!“, sagte Petra Vogel.", "Unter König Ludwig XIV. entstand ein Lager."]),
        ("de", ["Sie verlangt gem. § 5 Abs. 2 der Satzung ca. 20 Mio. Euro.", "Die Abstimmung ist am 3. Mai."]),
        ("de", ["„Das Geld fehlt“, erklärte er, „und das wissen alle.“", "»Ja!«", "Die Frist endet am 31. Dezember."]),
        ("fr", ["« Venez demain ! » a-t-il dit.", "M. Roux habite au 12 de l'av. Foch.", "La Cie. a vendu un bateau."]),
        ("fr", ["Le conseil a voté à 17 h. 30 contre le projet.", "« Pourquoi ? »", "Le maire s'est tu."]),
        ("es", ["La oficina está en la Avda. Paz.", "Los EE. UU. y la UE compran.", "La S.A. vendió tres barcos."]),
        ("es", ["¿Quién viene?", "¡Nadie!", "El Dr. Pérez llega a las 10 a. m. del lunes."]),
        ("ru", ["Завод продал на 5 млн. долл. США.", "Площадь 20 кв. м. и сад.", "В 1905 г. началась война."]),
        ("it", ["Il sig. Rossi vive in v. Roma.", "L'avv. Bianchi no."]),
        ("pl", ["Do 2035 r. powstanie tunel.", "— Nie wiem — powiedział prof. Nowak."]),
        ("pl", ["„Zauważyliście to?” — mówi Nowak.", "Mówi o wszystkim."]),
        ("pl", ["Było ok. o godzinie ósmej."]),
        ("en", ["Leeds United F.C. won.", "Acme Inc. sold e.g. Titan.", "The U.S. Army left at 5 p.m. on May 3."]),
        ("en", ["He left the U.S. in May.", "The No. 5 bus stops here.", "The answer is no.", "Mr. J. R. Fox left."]),
        ("en", ["It grew (see above).[1]", "It fell by half.", 'She asked, "Why?" and left.', "Was it?"]),
        ("hi", ["यह पुस्तकालय है।", "इसका निर्माण होगा।", "लागत कितनी होगी?", "बी. के. सिंह आए।"]),
        ("ur", ["یہ لائبریری ہے۔", "اس کی تعمیر ہوگی۔", "کیا وہ آئے گا؟", "ہاں۔"]),
        ("hy", ["Սա գրադարան է։", "Նոր շենքը մեծ է:", "Վ. Կանը եկավ։"]),
        ("am", ["ይህ ቤት ነው።", "ግንባታው ይጀምራል።"]),
        ("my", ["ဒါ စာကြည့်တိုက်ပါ။", "နှစ်နှစ်ကြာမည်။"]),
        ("km", ["នេះជាបណ្ណាល័យ។", "វាធំណាស់។"]),
        ("bo", ["འདི་དཔེ་མཛོད་ཁང་རེད།", "ཆེན་པོ་རེད།"]),
        ("el", ["Πότε έρχεται ο κ. Παππάς;", "Αύριο."]),
        ("bn", ["এটি একটি বই।", "তিনি পড়েন।"]),
        ("fa", ["کتاب‌ها خوب‌اند.", "آیا می‌آید؟", "بله."]),
    ],
)
def test_sentences_end_as_their_language_has_it(code: str, sentences: list[str]) -> None:
    assert of(code, " ".join(sentences)) == sentences


@pytest.mark.parametrize(
    ("code", "sentences"),
    [
        ("zh", ["这是一个手册。", "它描述“主机。”", "然后（网关）！", "下一句 apt 1.2 版本。", "Hello world."]),
        ("ja", ["これは本です。", "それは「良い。」", "ペンです。"]),
        ("ja", ["これは本 (良い!) です。", "ペンです。"]),
    ],
)
def test_sentences_without_spaces_between(code: str, sentences: list[str]) -> None:
    assert of(code, "".join(sentences)) == sentences


def test_full_stops_of_scripts_need_no_language() -> None:
    for stop in "\u0964\u06d4\u0589\u1362\u104b\u17d4\u0f0d":
        assert len(of("", f"a b c{stop} d e f{stop}")) == 2


def test_an_abbreviation_at_the_end_of_a_line_ends_no_sentence() -> None:
    text = "Some hosts, e.g.\nThose behind a NAT, wait.\nOthers do not."
    assert of("en", text) == ["Some hosts, e.g. Those behind a NAT, wait.", "Others do not."]


def test_a_transcript_without_punctuation_is_cut_into_clauses() -> None:
    clause = "we should move the launch of the new line to the second week of June"
    parts = DEFAULT.split(" ".join([clause] * 12))
    assert all(10 <= len(part.split()) <= 40 for part in parts[:-1])
    assert " ".join(part.strip() for part in parts) == " ".join([clause] * 12)
    for whole in [f"{clause} {clause}", f"{clause}, ".strip() * 20 + " the end"]:
        assert len(DEFAULT.split(whole)) == 1


def test_marks_have_a_length() -> None:
    marks = ["- ", "\u2022 ", "o ", "1. ", "12) ", "(a) ", "iv. ", "2.1 ", "2.1.3.  ", "[7] ", "\u2460 ", "(B) ", "B) "]
    assert [mark for mark in marks if list_mark(f"{mark}The owl hoots.") != len(mark)] == []
    assert list_mark("\u4e00\u3001\u732b") == 2
    others = ["3.5 million owls hoot.", "2.28 (2023-01-16):", "M. Dupont waits.", "-1 is a number", "a dog", "1.", "- "]
    assert [text for text in others if list_mark(text)] == []


def test_capitals_are_marks_where_the_text_counts_with_them() -> None:
    letters = list_letters(["A. One", "  B. Two", "D. Four", "text"])
    assert letters == {"A", "B"}
    assert list_mark("B. Two", letters) == 3
    assert not list_mark("D. Four", letters)
    assert not list_letters(["A. Only one"])


def test_a_mark_may_stand_alone() -> None:
    for mark in ("1.", "A.", "2.1."):
        assert DEFAULT.split(f"{mark} Owls hoot. {mark} Mice run.") == [f"{mark} Owls hoot.", f"{mark} Mice run.\n"]


def test_a_paragraph_may_end_with_a_sentence_or_before_a_list() -> None:
    ends = ["The owl hoots.", 'She said "no!"', "as follows:", "one thing;", "\u732b\u3002", "(see below).", "what?)"]
    assert [line for line in ends if not may_end_paragraph(line)] == []
    others = ["", "the owl", "the owl,", "the owl (at night)", "of 3.5"]
    assert [line for line in others if may_end_paragraph(line)] == []
