"""Text in: CuTe's notation, C++ types of compilers, and the grammar and tokens that all readers share."""
