//! Compressed bytes in any pieces, bombs and ruins.
