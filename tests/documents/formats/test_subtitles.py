import pytest

from sumpool.documents.detection import detect_format
from sumpool.documents.document import DEFAULT_OPTIONS
from sumpool.documents.formats.subtitles import parse

FIRST = ["I think we should move the launch of", "the new line to June. Then the posters", "are changed as well."]
WHOLE = "I think we should move the launch of the new line to June. Then the posters are changed as well."


def blocks(text: str) -> list[tuple[str, str]]:
    return [(block.kind, block.text) for block in parse(text.encode(), DEFAULT_OPTIONS).blocks]


def srt(lines: list[str], seconds: int = 3, empty: str = "\n") -> str:
    cues = enumerate(lines)
    return empty.join(
        f"{number + 1}\n00:{number * seconds // 60:02}:{number * seconds % 60:02},000 --> 00:00:59,500\n{line}\n"
        for number, line in cues
    )


@pytest.mark.parametrize(
    "text",
    [
        srt(FIRST),
        srt(FIRST).replace("\n", "\r\n"),
        "\ufeff" + srt(FIRST),
        srt(FIRST, empty=""),
        srt([f"<i>{line}</i>" for line in FIRST]),
        srt([f"{{\\an8}}<font color='#fff'>{line}</font>" for line in FIRST]),
        "WEBVTT\nKind: captions\n\n"
        + "".join(f"0:0{n}.0 --> 0:0{n + 1}.0 line:1\n{x}\n\n" for n, x in enumerate(FIRST)),
        "".join(f"0:00:0{n}.000,0:00:0{n + 1}.000\n{line}\n\n" for n, line in enumerate(FIRST)),
        srt([FIRST[0], "\n".join(FIRST[:2]), "\n".join(FIRST[1:])]),
        srt(["I<00:00:01.500><c> think</c> we should move the launch of", *FIRST[1:]]),
    ],
    ids=["srt", "crlf", "mark", "no empty lines", "italics", "styles", "vtt", "sbv", "rolling", "karaoke"],
)
def test_sentences_are_joined_across_cues(text: str) -> None:
    assert detect_format(text.encode(), ".txt") == detect_format(text.encode()) == "subtitles"
    assert blocks(text) == [("paragraph", WHOLE)]


def test_speakers_pauses_and_sounds_divide_paragraphs() -> None:
    text = """WEBVTT - A talk

00:01.000 --> 00:02.000
- Are you there?
- Yes, I am.

00:02.000 --> 00:03.000
And I stay.

00:09.000 --> 00:10.000
After a pause &amp; more.

00:10.000 --> 00:11.000
(door opens)

00:20.000 --> 00:21.000
Without an end

00:40.000 --> 00:41.000
it goes on.

00:41.000 --> 00:42.000
<v Ann>My turn.

00:42.000 --> 00:43.000
<v Ann>Still mine.
<v Bob>Now mine. It costs 20
1984
"""
    assert blocks(text) == [
        ("paragraph", "Are you there?"),
        ("paragraph", "Yes, I am. And I stay."),
        ("paragraph", "After a pause & more."),
        ("notice", "(door opens)"),
        ("paragraph", "Without an end it goes on."),
        ("paragraph", "My turn. Still mine."),
        ("paragraph", "Now mine. It costs 20 1984"),
    ]
    parsed = parse(text.encode(), DEFAULT_OPTIONS)
    assert parsed.title == "A talk"
    assert [block.line for block in parsed.blocks[:3]] == [4, 5, 11]


def test_long_speech_is_divided_behind_sentences() -> None:
    lengths = [
        len(text.split())
        for _, text in blocks(srt([f"We said it again and again, and {number} times." for number in range(15)], 1))
    ]
    assert max(lengths) < 140
    assert len(lengths) == 2


def test_times_in_prose_are_no_subtitles() -> None:
    for text in (
        "12:30 --> the meeting begins",
        "At 00:01:02,000 he came.",
        "1\n2\n3\n",
        "10:15, 11:15 and 12:15 are full.",
    ):
        assert detect_format(text.encode()) == "text"


@pytest.mark.parametrize(
    "head",
    ["", "[ti:A talk]\n[ar:Ann]\n[offset:+100]\n\n", "\ufeff[ti:A talk]\r\n[#:comment]\r\n"],
    ids=["", "lf", "crlf"],
)
def test_lyrics_are_read_without_their_times(head: str) -> None:
    lines = [
        f"[00:01.00]{FIRST[0]}",
        "[00:04.50][01:04.50]the <00:05.1>new line to June.",
        "[00:09.00]",
        "[00:20.10]We go.",
    ]
    text = head + "\n".join(lines)
    assert detect_format(text.encode(), ".txt") == detect_format(text.encode(), ".lrc") == "subtitles"
    assert blocks(text) == [("paragraph", f"{FIRST[0]} the new line to June."), ("paragraph", "We go.")]
    assert parse(text.encode(), DEFAULT_OPTIONS).title == ("A talk" if head else "")


def test_speech_in_brackets_is_no_field_of_lyrics() -> None:
    assert blocks(srt(["[ann: I said]", "[12:30] we go."])) == [
        ("notice", "[ann: I said]"),
        ("paragraph", "[12:30] we go."),
    ]
