"""Mailboxes (mbox): their mails, threads one after the other."""

import re
from collections.abc import Iterator
from email.errors import MessageError
from email.parser import BytesHeaderParser
from email.policy import compat32
from email.utils import parsedate_to_datetime
from typing import Final, NamedTuple

_START: Final = re.compile(rb"(?:\A|(?<=\n\n)|(?<=\r\n\r\n))From [^\r\n]*\r?\n(?=[!-9;-~]{1,76}:)")
_MESSAGE_ID: Final = re.compile(r"<[^<>\s]{1,998}>")
_LINKS: Final = ("Message-ID", "References", "In-Reply-To")
_MAX_HEADER: Final = 2**16
"""Bytes of the header of a mail that are looked at."""


class MailboxEntry(NamedTuple):
    """Mail of a mailbox.

    Attributes:
        number: Number in the mailbox, from 1.
        content: Mail as a file of its own.
    """

    number: int
    content: bytes


class _SortKey(NamedTuple):
    thread: str
    time: float


def split_mailbox(content: bytes) -> list[MailboxEntry]:
    """Return the mails of a mailbox, the threads in the order of their first mails and each by time; none of one mail.

    A thread is made of the mails that name each other in `References` and `In-Reply-To`.
    """
    starts = list(_START.finditer(content))
    if len(starts) < 2 or starts[0].start() > 0:
        return []
    ends = [start.start() for start in starts[1:]] + [len(content)]
    mails = [
        MailboxEntry(number, content[start.end() : end])
        for number, (start, end) in enumerate(zip(starts, ends, strict=True), 1)
    ]
    keys = list(_sort_keys(mails))
    first: dict[str, int] = {}
    for number, key in enumerate(keys):
        first.setdefault(key.thread, number)
    order = sorted(range(len(mails)), key=lambda index: (first[keys[index].thread], keys[index].time, index))
    return [mails[index] for index in order]


def _sort_keys(mails: list[MailboxEntry]) -> Iterator[_SortKey]:
    """Yield the thread and the time of each mail."""
    headers = [BytesHeaderParser(policy=compat32).parsebytes(mail.content[:_MAX_HEADER]) for mail in mails]
    names = [
        [name for field in _LINKS for value in header.get_all(field, []) for name in _MESSAGE_ID.findall(str(value))]
        for header in headers
    ]
    roots: dict[str, str] = {}

    def root(name: str) -> str:
        while (above := roots.setdefault(name, name)) != name:
            roots[name] = roots.setdefault(above, above)
            name = above
        return name

    for mail, linked in zip(mails, names, strict=True):
        linked.append(f"{mail.number}")
        for name in linked:
            roots[root(name)] = root(linked[0])
    for header, linked in zip(headers, names, strict=True):
        yield _SortKey(root(linked[0]), _time(str(header.get("Date", ""))))


def _time(date: str) -> float:
    """Return the time of a date in seconds; 0 where it cannot be read, so that the mail keeps its place."""
    try:
        return parsedate_to_datetime(date).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError, MessageError):
        return 0.0
