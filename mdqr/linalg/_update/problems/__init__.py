"""Problems that are kept: rows that come and leave, merges, and states of pickles."""
