"""Running text in the manner of text8 (Mahoney, 2006): letters of one alphabet in lower case, and single spaces.

Digits are spelt out, and everything else becomes a space. With the settings of English, the text is that of Mahoney's
rules: upper-case ASCII letters to lower case, digits to words, all other characters to spaces, runs of spaces to one.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, Self

from pydantic import model_validator

from sumpool.settings import Settings

LATIN: Final = "abcdefghijklmnopqrstuvwxyz"
_Form = Literal["", "NFC", "NFKC", "NFD", "NFKD"]
_CAPITALS: Final = {"ß": "ẞ"}
"""Capitals that Python writes with two letters."""
_LINE_ENDS = re.compile(r" *\n[ \n]*")
_SPACES = re.compile(r" {2,}")


@dataclass(frozen=True)
class Alphabet:
    """Letters of a language, and its words for digits.

    Attributes:
        letters: Lower-case letters.
        digits: Words for 0 to 9, separated by spaces.
        normalization: Unicode normalization before letters are compared; English has none, like text8.
    """

    letters: str
    digits: str
    normalization: Literal["", "NFC", "NFKC"] = "NFC"


ALPHABETS: Final[Mapping[str, Alphabet]] = {
    "cs": Alphabet(LATIN + "áčďéěíňóřšťúůýž", "nula jedna dva tři čtyři pět šest sedm osm devět"),
    "da": Alphabet(LATIN + "æøå", "nul en to tre fire fem seks syv otte ni"),
    "de": Alphabet(LATIN + "äöüß", "null eins zwei drei vier fünf sechs sieben acht neun"),
    "el": Alphabet("αάβγδεέζηήθιίϊΐκλμνξοόπρσςτυύϋΰφχψωώ", "μηδέν ένα δύο τρία τέσσερα πέντε έξι επτά οκτώ εννέα"),
    "en": Alphabet(LATIN, "zero one two three four five six seven eight nine", normalization=""),
    "es": Alphabet(LATIN + "áéíñóúü", "cero uno dos tres cuatro cinco seis siete ocho nueve"),
    "fi": Alphabet(LATIN + "åäöšž", "nolla yksi kaksi kolme neljä viisi kuusi seitsemän kahdeksan yhdeksän"),
    "fr": Alphabet(LATIN + "àâæçéèêëîïôœùûüÿ", "zéro un deux trois quatre cinq six sept huit neuf"),
    "he": Alphabet("אבגדהוזחטיכךלמםנןסעפףצץקרשת", "אפס אחת שתיים שלוש ארבע חמש שש שבע שמונה תשע"),
    "it": Alphabet(LATIN + "àèéìòù", "zero uno due tre quattro cinque sei sette otto nove"),
    "nl": Alphabet(LATIN + "éëï", "nul een twee drie vier vijf zes zeven acht negen"),
    "pl": Alphabet(LATIN + "ąćęłńóśźż", "zero jeden dwa trzy cztery pięć sześć siedem osiem dziewięć"),
    "pt": Alphabet(LATIN + "áâãàçéêíóôõú", "zero um dois três quatro cinco seis sete oito nove"),
    "ru": Alphabet("абвгдеёжзийклмнопрстуфхцчшщъыьэюя", "ноль один два три четыре пять шесть семь восемь девять"),
    "sv": Alphabet(LATIN + "åäöé", "noll ett två tre fyra fem sex sju åtta nio"),
    "vi": Alphabet(
        LATIN + "ăâđêôơưáàảãạắằẳẵặấầẩẫậéèẻẽẹếềểễệíìỉĩịóòỏõọốồổỗộớờởỡợúùủũụứừửữựýỳỷỹỵ",
        "không một hai ba bốn năm sáu bảy tám chín",
    ),
}
"""Alphabets by ISO 639-1 code."""


_ALIKE = "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧανορυАВЕЅІЈКМНОРСТУХаеѕіјорсухһԁԛԝıɑɡ"  # noqa: RUF001 - they are meant
HOMOGLYPHS: Final = dict(zip(_ALIKE, "ABEZHIKMNOPTYXavopuABESIJKMHOPCTYXaesijopcyxhdqwiag", strict=True))
"""Latin letters that Greek, Cyrillic and phonetic ones look like; wide and mathematical ones are left to NFKC."""


class RunningTextConfig(Settings):
    """Normalization of running text in the manner of text8."""

    language: str | None = None
    """Language whose letters and words for digits are known (ISO 639-1), such as en or fi; null makes digits spaces."""
    alphabet: str = ""
    """Lower-case letters to keep, instead of those of the language."""
    lines: bool = False
    """Whether line ends are kept, one for a run of them; otherwise they are spaces."""
    homoglyphs: bool = False
    """Whether letters of other scripts that look like Latin ones become these, unless the alphabet has them itself."""
    normalization: _Form | None = None
    """Unicode normalization before letters are compared; by default that of the language, else NFC."""

    @model_validator(mode="after")
    def _require_letters(self) -> Self:
        if self.language is not None and self.language not in ALPHABETS:
            raise ValueError(
                f"language must be one of {', '.join(ALPHABETS)}, got {self.language!r}; set alphabet for another one"
            )
        if not (self.language or self.alphabet):
            raise ValueError("language must be set, or alphabet, got none")
        foreign = sorted({*"".join(self.words)} - self.letters)
        if foreign:
            raise ValueError(f"alphabet must have the letters of the words for 0 to 9, got none of {foreign[0]!r}")
        return self

    @property
    def words(self) -> tuple[str, ...]:
        """Words for 0 to 9; none if they are not known."""
        return tuple(ALPHABETS[self.language].digits.split()) if self.language else ()

    @property
    def letters(self) -> frozenset[str]:
        """Letters that are kept, in lower case where there are two cases."""
        return frozenset(self.alphabet or (ALPHABETS[self.language].letters if self.language else ""))

    @property
    def form(self) -> _Form:
        """Unicode normalization; empty for none."""
        if self.normalization is not None:
            return self.normalization
        return ALPHABETS[self.language].normalization if self.language else "NFC"


def normalizer(config: RunningTextConfig) -> Callable[[str], str]:
    """Return the function that normalizes a text; white space at its beginning is left out."""
    table = {letter: letter for letter in config.letters}
    for letter in sorted(config.letters):
        if len(upper := _CAPITALS.get(letter) or letter.upper()) == 1 and upper != letter:
            table[upper] = upper.lower() if upper.lower() in config.letters else letter
    table.update({str(digit): f" {word} " for digit, word in enumerate(config.words)})
    if config.homoglyphs:
        table = {glyph: table[letter] for glyph, letter in HOMOGLYPHS.items() if letter in table} | table
    if config.lines:
        table["\n"] = "\n"
    characters = defaultdict(lambda: " ", {ord(character): text for character, text in table.items()})

    def normalize(text: str) -> str:
        text = unicodedata.normalize(config.form, text) if config.form else text
        text = _LINE_ENDS.sub("\n", text.translate(characters))  # of a run of white space with one
        return _SPACES.sub(" ", text).lstrip(" \n")

    return normalize
