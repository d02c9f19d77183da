"""Alphabets and words for digits of languages, for running text in the manner of text8 (Mahoney, 2006).

An alphabet is the lower-case letters, or the Unicode scripts where letters are too many to list. Digits are spelt out
one by one, as text8 does: 2006 is "two zero zero six".
"""

import sys
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal

LATIN: Final = "abcdefghijklmnopqrstuvwxyz"
SCRIPTS: Final[Mapping[str, tuple[str, ...]]] = {
    "arabic": ("ARABIC LETTER",),
    "armenian": ("ARMENIAN SMALL",),
    "cyrillic": ("CYRILLIC SMALL",),
    "devanagari": ("DEVANAGARI LETTER", "DEVANAGARI VOWEL SIGN", "DEVANAGARI SIGN"),
    "georgian": ("GEORGIAN LETTER",),
    "greek": ("GREEK SMALL",),
    "han": ("CJK UNIFIED IDEOGRAPH", "IDEOGRAPHIC ITERATION MARK"),
    "hangul": ("HANGUL SYLLABLE",),
    "hebrew": ("HEBREW LETTER",),
    "hiragana": ("HIRAGANA LETTER",),
    "katakana": ("KATAKANA LETTER", "KATAKANA-HIRAGANA PROLONGED SOUND MARK"),
    "latin": ("LATIN SMALL",),
    "thai": ("THAI CHARACTER",),
}
"""Beginnings of the names of the letters of a script."""


@dataclass(frozen=True)
class Alphabet:
    """Letters of a language, and its words for digits.

    Attributes:
        letters: Lower-case letters; those of `scripts` are added.
        digits: Words for 0 to 9, separated by spaces; empty if they are not known.
        scripts: Scripts all of whose letters belong to the language.
        normalization: Unicode normalization before letters are compared; English has none, like text8.
    """

    letters: str
    digits: str = ""
    scripts: tuple[str, ...] = ()
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
    "ja": Alphabet("", "零 一 二 三 四 五 六 七 八 九", ("hiragana", "katakana", "han"), "NFKC"),
    "ko": Alphabet("", "영 일 이 삼 사 오 육 칠 팔 구", ("hangul",), "NFKC"),
    "nl": Alphabet(LATIN + "éëï", "nul een twee drie vier vijf zes zeven acht negen"),
    "pl": Alphabet(LATIN + "ąćęłńóśźż", "zero jeden dwa trzy cztery pięć sześć siedem osiem dziewięć"),
    "pt": Alphabet(LATIN + "áâãàçéêíóôõú", "zero um dois três quatro cinco seis sete oito nove"),
    "ru": Alphabet("абвгдеёжзийклмнопрстуфхцчшщъыьэюя", "ноль один два три четыре пять шесть семь восемь девять"),
    "sv": Alphabet(LATIN + "åäöé", "noll ett två tre fyra fem sex sju åtta nio"),
    "vi": Alphabet(
        LATIN + "ăâđêôơưáàảãạắằẳẵặấầẩẫậéèẻẽẹếềểễệíìỉĩịóòỏõọốồổỗộớờởỡợúùủũụứừửữựýỳỷỹỵ",
        "không một hai ba bốn năm sáu bảy tám chín",
    ),
    "zh": Alphabet("", "零 一 二 三 四 五 六 七 八 九", ("han",), "NFKC"),
}
"""Alphabets by ISO 639-1 code."""


@cache
def letters_of(script: str) -> frozenset[str]:
    """Return the letters of a script; of those with two cases, the lower-case ones."""
    beginnings = SCRIPTS[script]
    characters = map(chr, range(sys.maxunicode + 1))
    return frozenset(letter for letter in characters if unicodedata.name(letter, "").startswith(beginnings))
