"""Numbers of the updates: blocks of multiple doubles, and floats."""
