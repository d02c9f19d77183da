"""Rows of measurements, tables of them, and the report around a result."""
