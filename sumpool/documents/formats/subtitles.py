"""Subtitles and lyrics (SubRip, WebVTT, SBV, LRC): the speech as paragraphs, without numbers, times and styles.

Sentences are joined across cues. A paragraph ends before another speaker, before a pause behind a sentence, and where
it has become long. Descriptions of sounds ("[Music]") are notices.
"""

import re
from collections.abc import Iterator
from html import unescape
from operator import attrgetter
from typing import Final

from sumpool.documents.decoding import decode_text
from sumpool.documents.detection import CUE, STAMP
from sumpool.documents.document import ParsedDocument, ReadOptions, TextBlock
from sumpool.text.sentences import has_end_mark

_TAG: Final = re.compile(r"</?[a-zA-Z0-9][^<>]{0,100}>|\{\\[^{}]{1,100}\}")
_VOICE: Final = re.compile(r"<v(?:\.[\w.]+)?\s+([^<>]{1,100})>")
_SPEAKER: Final = re.compile(r"(?:[-\u2013\u2014]\s*|>>+\s*)(?=\S)")
"""Mark before the words of another speaker."""
_SOUND: Final = re.compile(r"\[[^\[\]]*\]|\([^()]*\)|[\u266a-\u266c][^\n]*")
_TITLE: Final = re.compile(r"\A\s*WEBVTT([^\r\n]*)|^\[ti:([^\]\n]*)\]", re.MULTILINE)
_FIELD: Final = re.compile(r"\s*\[(?:#|[a-z]{2,6}):[^\]]*\]\s*")
"""Line of LRC about the title, the artist and so on."""
_PAUSE: Final = 3.0
"""Seconds without speech between two paragraphs."""
_MAX_WORDS: Final = 120
"""Words from which on a paragraph ends with its sentence."""


def parse(content: bytes, options: ReadOptions) -> ParsedDocument:
    """Read subtitles.

    Raises:
        ValueError: If the content is not text in a known encoding.
    """
    del options
    text, notes = decode_text(content)
    title = _TITLE.search(text)  # behind the first word of WebVTT, or in the field of LRC
    return ParsedDocument(tuple(_paragraphs(text)), (title[1] or title[2] or "").strip(" \t-") if title else "", notes)


def _paragraphs(text: str) -> Iterator[TextBlock]:
    words: list[str] = []
    sounds: list[TextBlock] = []
    start, speaker = 0, ""
    for content, number, pause, voice in _lines(text):
        mark = _SPEAKER.match(content)
        speech = content[mark.end() :] if mark else content
        is_sound = bool(_SOUND.fullmatch(speech))
        is_new_speaker = mark or (voice and voice != speaker)
        may_end = pause >= _PAUSE or is_sound or len(words) >= _MAX_WORDS
        if is_new_speaker or (may_end and words and has_end_mark(words[-1])):
            yield from _paragraph(words, start, sounds)
            words, sounds = [], []
        speaker = voice or speaker
        if is_sound:
            sounds.append(TextBlock(speech, "notice", line=number))
        else:
            start = start if words else number
            words += speech.split()
    yield from _paragraph(words, start, sounds)


def _paragraph(words: list[str], start: int, sounds: list[TextBlock]) -> list[TextBlock]:
    """Return a paragraph and the sounds in and before it."""
    speech = [TextBlock(" ".join(words), line=start)] if words else []
    return sorted([*speech, *sounds], key=attrgetter("line"))


def _lines(text: str) -> Iterator[tuple[str, int, float, str]]:
    """Yield the lines of speech, each once where captions roll: text, number, seconds before it, and speaker."""
    end, recent, pause = 0.0, ["", ""], 0.0
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    is_speech = False
    for number, content in enumerate(lines, 1):
        if cue := CUE.match(content):
            pause, end = max(0.0, _seconds(cue.groups()[:4]) - end), _seconds(cue.groups()[4:])
            is_speech = True
        elif not is_speech and (STAMP.match(content) or _FIELD.fullmatch(content)):
            line = _clean(STAMP.sub("", content)) if STAMP.match(content) else ""
            if line and line not in recent:
                yield line, number, pause, ""
                recent = [recent[1], line]
            pause = 0.0 if line else _PAUSE
        elif not content.strip() or (content.strip().isdigit() and number < len(lines) and CUE.match(lines[number])):
            is_speech = False
        elif is_speech and (line := _clean(content)) and line not in recent:
            voice = _VOICE.search(content)
            yield line, number, pause, voice[1].strip() if voice else ""
            recent, pause = [recent[1], line], 0.0


def _clean(content: str) -> str:
    return " ".join(unescape(_TAG.sub("", content)).split())


def _seconds(clock: tuple[str | None, ...]) -> float:
    hours, minutes, seconds, fraction = clock
    return int(hours or 0) * 3600 + int(minutes or 0) * 60 + int(seconds or 0) + float(f"0.{fraction or 0}")
