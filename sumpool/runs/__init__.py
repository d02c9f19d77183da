"""Run folders: what training writes, begins with and reports."""
