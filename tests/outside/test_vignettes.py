from pathlib import Path

import vignettes

TEXT = """---
title: 'Trees with `r Biocpkg("trees")`'
abstract: >
  This *vignette* introduces `r Biocpkg("trees")`.
  {SENTENCES}
  Trees package version: `r packageVersion("trees")`
output: html
---

```{r setup, include=FALSE}
library(trees)
```

```{r}
knitr::opts_chunk$set(comment = "")
```

# Introduction

{BODY}

```{r}
grow()
```

# References
"""


def test_vignettes_in_markdown(tmp_path: Path) -> None:
    library = tmp_path / "usr/lib/R/site-library/trees"
    (library / "doc").mkdir(parents=True)
    (library / "DESCRIPTION").write_text("Package: trees\nLicense: GPL (>= 2)\n")
    body = "Trees are grown here. " * 260
    sentences = "They are grown by the partitioning of data. " * 5
    text = TEXT.replace("{BODY}", body).replace("{SENTENCES}", sentences)
    (library / "doc/trees.Rmd").write_text(text)
    (library / "doc/other.Rmd").write_text(f"# No abstract\n\n{body}\n")
    (library / "doc/broken.Rmd").write_text(f"---\nabstract: [\n---\n\n{body}\n")
    (row,) = vignettes.package_rows("r-cran-trees", tmp_path, tmp_path / "cache")
    assert (row.id, row.package, row.licence) == ("r-cran-trees/trees.Rmd", "r-cran-trees", "GPL (>= 2)")
    assert row.title == "Trees with trees"
    assert row.summary == f"This vignette introduces trees. {sentences}".strip()
    assert row.document == f"# Introduction\n\n{body.strip()}\n\n```\ngrow()\n```"


def test_packages_are_named_once() -> None:
    assert len(set(vignettes.PACKAGES)) == len(vignettes.PACKAGES) > 90
