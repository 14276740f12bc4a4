"""The programs are read by checkers; one of them is run by a test."""

collect_ignore_glob = ["program_*.py"]
