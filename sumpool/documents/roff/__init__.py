"""Manual pages: requests and macros of roff."""
