"""Inline markup of reStructuredText reduced to its text."""

import re
from collections.abc import Mapping

_LITERAL = re.compile(r"``(?P<code>.+?)``", re.DOTALL)
_ROLE = re.compile(r":(?P<role>[a-zA-Z][\w.+-]*(?::[\w.+-]+){0,3}):`(?P<text>[^`]*)`")
_ROLE_BEHIND = re.compile(r"`(?P<text>[^`]+)`:(?P<role>[a-zA-Z][\w.+-]*):(?!`)")
_TITLED = re.compile(r"^(?P<title>.*?)\s*<(?P<target>[^<>]*)>$", re.DOTALL)
_LINK = re.compile(r"(?<![`\w])_?`(?P<text>[^`]+)`(?:__?\b|__?(?=\W|$))?")
_FOOTNOTE = re.compile(r"\s?\[(?:\d+|#[\w-]*|\*)\]_(?!\w)")
_CITATION = re.compile(r"\[(?P<name>[\w.-]+)\]_(?!\w)")
_NAMED = re.compile(r"(?<![\w`])(?P<name>[A-Za-z0-9]+(?:[-.:+][A-Za-z0-9]+)*)__?(?=$|[\s.,;:!?)'\"\]>/-])")
_STRONG = re.compile(r"(?<![\w*\\])\*\*(?=\S)(?P<text>.+?)(?<=\S)\*\*(?![\w*])", re.DOTALL)
_EMPHASIS = re.compile(r"(?<![\w*\\])\*(?=[^\s*])(?P<text>[^*]+?)(?<=\S)\*(?![\w*])")
_SUBSTITUTION = re.compile(r"(?<![\w|])\|(?P<name>[^\s|](?:[^|\n]*[^\s|])?)\|(?:__?)?(?![\w|])")
_ESCAPE = re.compile(r"\\(\s|\S)")
_KEPT = re.compile(r"\0(\d+)\0")
_PREFIXED = {"pep": "PEP ", "rfc": "RFC "}
_HIDDEN = frozenset(("index", "cite", "raw-html", "sub-ref"))
_SHORT = re.compile(r"~(?:[\w.]*\.)?")


def inline_text(text: str, substitutions: Mapping[str, str]) -> str:
    """Return the text of inline markup with single spaces.

    Args:
        text: Text of a paragraph.
        substitutions: Text of each |name|.
    """
    kept: list[str] = []

    def keep(match: re.Match[str]) -> str:
        kept.append(match["code"])
        return f"\0{len(kept) - 1}\0"

    text = _LITERAL.sub(keep, text.replace("\0", "")) if "``" in text else text
    if "`" in text:
        text = _ROLE.sub(lambda match: _role_text(match["role"], match["text"]), text)
        text = _ROLE_BEHIND.sub(lambda match: _role_text(match["role"], match["text"]), text)
        text = _LINK.sub(lambda match: _titled(match["text"]), text)
    if "_" in text:
        text = _NAMED.sub(r"\g<name>", _CITATION.sub(r"[\g<name>]", _FOOTNOTE.sub("", text)))
    if "*" in text:
        text = _EMPHASIS.sub(r"\g<text>", _STRONG.sub(r"\g<text>", text))
    if "|" in text:
        text = _SUBSTITUTION.sub(lambda match: substitutions.get(match["name"], ""), text)
    text = _ESCAPE.sub(lambda match: match[1].strip(), text)
    return " ".join(_KEPT.sub(lambda match: kept[int(match[1])], text).split())


def _role_text(role: str, text: str) -> str:
    name = role.split(":")[-1].lower()
    if name in _HIDDEN:
        return ""
    if name in ("abbr", "menuselection", "kbd", "samp", "file"):
        return text.replace("{", "").replace("}", "")
    title = _titled(text)
    if title == text:
        title = _SHORT.sub("", text, count=1) if text.startswith("~") else text.removeprefix("!")
    return _PREFIXED.get(name, "") + title


def _titled(text: str) -> str:
    """Return the title of a link with its target in angle brackets, or the target of one without a title."""
    match = _TITLED.match(text)
    return (match["title"] or match["target"]) if match else text
