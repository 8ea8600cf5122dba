"""Orderings of a kernel's accesses under the memory model: what ``HappensBefore`` rests on."""
