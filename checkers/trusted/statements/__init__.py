"""A whole claim as plain data, and the certificate that binds a proof to it.

A certificate is ``{"statement", "claim", "proof"}``, at times with ``rewriting``, and ``{"claim", "proof"}`` where it
is a part of another. ``statement`` is the claim as the user made it: its kind, every field, the range of each size
and what is given. ``claim`` is what the proof shows: about modes, polynomials or digits. ``checkers.verify`` derives
from the statement what must be shown and compares. ``rewriting`` says what sizes and quotients of the statement are
called in the claim, with the lemmas for it. For claims about kernels and tensor copies, and where that derivation
does not succeed, a ``binding``, the hash of all the rest, takes its place, and ``trusts`` says in words what is
trusted.

``write`` and ``names`` are of the provers; ``check``, ``kinds``, ``lanes``, ``forms`` and ``world`` are the checker's
and import nothing of them.
"""
