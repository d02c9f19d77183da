"""Suites: the papers' benchmarks.

A suite is a function of its settings, the conditions, a progress report and a check, which is called between
repetitions and may raise to stop. It measures rows and returns them as a `Result` with the tables of its module.
"""
