//! Other servers' tools as tools of haft.
