"""Pickles and files of earlier states, which every later state reads."""
