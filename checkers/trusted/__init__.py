"""The trusted code: the checkers of certificates, which import nothing of the provers.

A certificate that passes here is a proof, wherever it came from. ``certificate_json`` and ``statements.write`` are the
provers' side: what they write is read and judged by the rest.
"""
