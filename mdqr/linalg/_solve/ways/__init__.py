"""Answers of one kernel call, and of batches whose matrices take several ways."""
