"""Who stores which element of an output: what ``WrittenOnce`` rests on."""
