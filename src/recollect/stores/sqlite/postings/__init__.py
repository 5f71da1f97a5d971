"""Posting lists beside the word index: ranked searches for any of several words, without a look at every match.

SQLite's word index stays the only truth. A snapshot of it, in a file that is mapped into memory, has for each word the
notes that hold it; what was written since is kept in memory beside it.
"""
