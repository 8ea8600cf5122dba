"""Who stores which element of an output: what ``WrittenOnce`` rests on.

The places of stores, the cells that blocks and threads divide a tensor into, and how often each element is reached
belong here.
"""
