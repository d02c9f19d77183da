"""reStructuredText: lines, inline markup, directives and tables."""
