"""Tiles of CK Tile: distributions over warps, lanes and registers, windows on views, and what moves through them.

A new way to make an encoding from others belongs into ``making_encodings``; a translation into ``thread_values``.
"""
