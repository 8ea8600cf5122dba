"""Global memory that is written and also read or written by others: what ``GlobalOrder`` rests on."""
