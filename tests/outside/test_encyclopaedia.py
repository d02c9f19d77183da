import bz2
from pathlib import Path
from zipfile import ZipFile

import encyclopaedia

LEAD = "The '''dipper''' (''Cinclus'', ) is a [[bird|songbird]] of [[stream]]s.<ref>{{cite|a={{b}}}}</ref> " + (
    "It walks under water to find larvae of insects between the stones. " * 4
)
TEXT = f"""{{{{Taxobox|name=[[Dipper]]}}}}
[[File:Dipper.jpg|thumb|A [[dipper]] on a stone]]
{LEAD}

== Habitat ==
{{| class=table
| cell
|}}
It lives near [http://example.org clear] streams.
* in winter
* in summer

=== Winter ===
{"Dippers stay near the water in winter, if the streams do not freeze over the whole of their length. " * 30}

== See also ==
=== Others ===
* [[Heron]]

== Nests ==
Under bridges.
[[Category:Birds]]
"""


def test_wikitext_becomes_markdown() -> None:
    lead, habitat, winter, nests = encyclopaedia.markdown(TEXT)
    assert lead.startswith("The dipper (Cinclus, ) is a songbird of streams. It walks")
    assert habitat == "## Habitat\n\nIt lives near clear streams.\n- in winter\n- in summer"
    assert winter.startswith("### Winter\n\nDippers stay")
    assert nests == "## Nests\n\nUnder bridges."


def test_the_lead_is_the_reference(tmp_path: Path) -> None:
    text = TEXT.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    redirect = "<page><title>Ouzel</title><redirect/><text>#REDIRECT</text></page>"
    dump = f'<x>{redirect}<page><title>Dipper</title><text xml:space="preserve">{text}</text></page></x>'
    with ZipFile(tmp_path / "gensim.whl", "w") as archive:
        archive.writestr(encyclopaedia.MEMBER, bz2.compress(dump.encode()))
    (row,) = encyclopaedia.rows(tmp_path / "gensim.whl")
    assert (row.id, row.title) == ("gensim/Dipper", "Dipper")
    assert row.summary.startswith("The dipper")
    assert row.document.startswith("# Dipper\n\n## Habitat")
