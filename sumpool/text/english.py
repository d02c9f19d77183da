"""Training of `english.json`, the shipped parameters of the sentence splitter.

    python -m sumpool.text.english < prose.txt > sumpool/text/english.json

The input is the prose of the RFC series (the cleaned training documents). Abbreviations are the list below, checked by
hand; sentence starters and orthographic context are learnt, and kept only for words that also occur in lower case,
which excludes names and identifiers.
"""

import sys

from sumpool.text.punkt import PunktModel
from sumpool.text.sentences import train_punkt

_LOWER_CASE = 0b1110000
"""Flags of nltk for an occurrence in lower case: at the start of a sentence, inside one, and unknown."""

ABBREVIATIONS = """
a.d a.k.a a.m adj adm al approx apr apt arr assn assoc asst aug ave b.a b.c b.s bldg blvd brig bros bull c.f
c.v ca capt cf ch chap cmdr co col conf corp cpl cpt d.c d.phil dec dept dist dr e.g ed eds eng eq eqn eqs
equiv esp esq est et.al etc exp ext f.b.i feb fig figs fr fri ft gen gov govt hon hosp i.e i.q ibid inc incl
inst intl j.d jan jr jul jun lt ltd m.a m.b.a m.d m.s m.sc maj mar messrs mfg mgr misc mr mrs ms msgr mt mts
n.b n.y nat natl nos nov oct p.m p.o p.s para paras ph.d phd pl pls pp pres prof pseud pt ref refs reg repr
resp ret rev rt sec secs sect sen sep sept seq sgt sq sr st subj suppl supt tel thu thurs tr tue tues u.k u.n
u.s u.s.a u.s.s.r univ v.s viz vol vols vs w.r.t
"""


def main() -> None:
    """Train on prose from stdin and write the parameters to stdout."""
    punkt = train_punkt([sys.stdin.read()])
    contexts = {word: flags for word, flags in punkt.contexts.items() if word.isalpha() and flags & _LOWER_CASE}
    english = PunktModel(frozenset(ABBREVIATIONS.split()), starters=punkt.starters & contexts.keys(), contexts=contexts)
    sys.stdout.write(english.to_json())


if __name__ == "__main__":
    main()
