"""Operands, checks and scales that all of linear algebra shares."""
