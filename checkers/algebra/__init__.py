"""Proofs by algebra: how a claim becomes polynomials and digits, and the search for certificates about them.

Nothing here is trusted: what is found goes to ``checkers.trusted``. A new search belongs here, with the rule that
accepts what it finds there.
"""
