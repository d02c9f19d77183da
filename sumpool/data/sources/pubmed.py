"""PubMed articles with their abstracts, in the format of Cohan et al. (2018)."""

from typing import Literal, final

from sumpool.data.sources._cohan import CohanSourceConfig


@final
class PubmedSourceConfig(CohanSourceConfig):
    """PubMed articles; the summary is the abstract."""

    kind: Literal["pubmed"] = "pubmed"
