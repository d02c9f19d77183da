"""HTML: the tree of a page, its main part and its blocks."""
