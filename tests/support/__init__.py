"""What several tests share: draws by seed, kernels to prove and to break, and claims decided on plain integers.

A module comes here when a second file of tests needs it. Nothing here is collected.
"""
