"""Random problems that are hard to solve, with exact rational references and verdicts."""
