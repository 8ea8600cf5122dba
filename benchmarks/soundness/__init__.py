"""Fight the provers against enumeration: every PROVED and REFUTED must agree with plain integers.

    python -m benchmarks.soundness --trials 100000 --seed 0 [--symbolic 4000] [--kinds Injective,ConflictFree]
                                   [--resume FILE] [--seconds 90]

Each kind of claim has one row: random claims on numbers and on symbols, and an oracle on Python integers
(``registry``, ``plain``). Static claims are decided twice; symbolic ones once, and then tried at sampled admissible
sizes. With ``--resume`` the slices that are done are read from a file and new ones added to it. Exit status 1 on any
disagreement.
"""
