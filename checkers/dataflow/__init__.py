"""Values followed from loads to stores, for all sizes: what ``Computes`` rests on."""
