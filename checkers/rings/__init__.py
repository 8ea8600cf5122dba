"""Rings of mbarriers: programs, an abstract machine, hypotheses and lemmas; what ``RingProtocol`` rests on."""
