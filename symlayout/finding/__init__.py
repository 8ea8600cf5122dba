"""Claims found where users keep them: Python modules, TOML files and comments, each with its place.

A new kind of source belongs here, as a function from a file to ``Found`` values that ``collect`` calls.
"""
