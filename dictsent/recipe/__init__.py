"""Recipes: one TOML file, one experiment, from dictionary files to a table of scores.

Before: every room below. After: the command line. (Nothing is imported here: checking a recipe's form needs no torch.)
"""
