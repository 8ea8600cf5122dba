"""Text in: CuTe's notation, C++ types of compilers, and the grammar and tokens that all readers share.

A new way to write a layout or an expression belongs here, as a parser on ``reader``. The printing of values is with
the values; texts of expressions are in ``symlayout.expr``.
"""
