"""Symbolic clocks of barriers: use numbers, what is over before an operation, chains of waits that show it."""
