import pytest

from sumpool.documents.detection import detect_format
from tests.documents.formats.conftest import outline, outline_of, read

FIRST = ["I think we should move the launch of", "the new line to June. Then the posters", "are changed as well."]
WHOLE = "I think we should move the launch of the new line to June. Then the posters are changed as well."


def srt(lines: list[str], seconds: int = 3, empty: str = "\n") -> str:
    return empty.join(
        f"{number + 1}\n00:{number * seconds // 60:02}:{number * seconds % 60:02},000 --> 00:00:59,500\n{line}\n"
        for number, line in enumerate(lines)
    )


@pytest.mark.parametrize(
    "text",
    [
        srt(FIRST),
        srt(FIRST).replace("\n", "\r\n"),
        "\ufeff" + srt(FIRST),
        srt(FIRST, empty=""),
        srt([f"{{\\an8}}<font color='#fff'><i>{line}</i></font>" for line in FIRST]),
        "WEBVTT\nKind: captions\n\n"
        + "".join(f"0:0{n}.0 --> 0:0{n + 1}.0 line:1\n{x}\n\n" for n, x in enumerate(FIRST)),
        "".join(f"0:00:0{n}.000,0:00:0{n + 1}.000\n{line}\n\n" for n, line in enumerate(FIRST)),
        srt([FIRST[0], "\n".join(FIRST[:2]), "\n".join(FIRST[1:])]),
        srt(["I<00:00:01.500><c> think</c> we should move the launch of", *FIRST[1:]]),
    ],
    ids=["srt", "crlf", "mark", "no empty lines", "styles", "vtt", "sbv", "rolling", "karaoke"],
)
def test_sentences_are_joined_across_cues(text: str) -> None:
    assert detect_format(text.encode(), ".txt") == detect_format(text.encode()) == "subtitles"
    assert outline("subtitles", text) == [f"p {WHOLE}"]


def test_speakers_pauses_and_sounds_divide_paragraphs() -> None:
    cues = [(1, "- Are you there?\n- Yes, I am."), (2, "And I stay."), (9, "After a pause &amp; more.")]
    cues += [(10, "(door opens)"), (20, "Without an end"), (40, "it goes on."), (41, "<v Ann>My turn.")]
    cues += [(42, "<v Ann>Still mine.\n<v Bob>Now mine. It costs 20\n1984")]
    text = "".join(f"\n00:{second:02}.000 --> 00:{second + 1:02}.000\n{said}\n" for second, said in cues)
    parsed = read("subtitles", f"WEBVTT - A talk\n{text}")
    assert parsed.title == "A talk"
    assert [block.line for block in parsed.blocks[:3]] == [4, 5, 11]
    assert outline_of(parsed.blocks) == [
        "p Are you there?",
        "p Yes, I am. And I stay.",
        "p After a pause & more.",
        "notice (door opens)",
        "p Without an end it goes on.",
        "p My turn. Still mine.",
        "p Now mine. It costs 20 1984",
    ]


def test_long_speech_is_divided_behind_sentences() -> None:
    cues = srt([f"We said it again and again, and {number} times." for number in range(15)], 1)
    first, second = (block.text for block in read("subtitles", cues).blocks)
    assert len(first.split()) < 140
    assert second.endswith(" times.")


def test_times_in_prose_are_no_subtitles() -> None:
    for text in ["12:30 --> the meeting begins", "At 00:01:02,000 he came.", "1\n2\n3\n", "10:15 and 12:15 are full."]:
        assert detect_format(text.encode()) == "text"


@pytest.mark.parametrize(
    "head",
    ["", "[ti:A talk]\n[ar:Ann]\n[offset:+100]\n\n", "\ufeff[ti:A talk]\r\n[#:comment]\r\n"],
    ids=["", "lf", "crlf"],
)
def test_lyrics_are_read_without_their_times(head: str) -> None:
    text = (
        f"{head}[00:01.00]{FIRST[0]}\n[00:04.50][01:04.50]the <00:05.1>new line to June.\n[00:09.00]\n[00:20.10]We go."
    )
    assert detect_format(text.encode(), ".txt") == detect_format(text.encode(), ".lrc") == "subtitles"
    assert outline("subtitles", text) == [f"p {FIRST[0]} the new line to June.", "p We go."]
    assert read("subtitles", text).title == ("A talk" if head else "")


def test_speech_in_brackets_is_no_field_of_lyrics() -> None:
    text = srt(["[ann: I said]", "[12:30] we go."])
    assert outline("subtitles", text) == ["notice [ann: I said]", "p [12:30] we go."]
