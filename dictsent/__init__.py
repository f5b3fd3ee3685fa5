"""Dictionaries in, sentence encoders out."""

__version__ = "0.1.0"
