"""Proofs that solutions exist near points, are distinct, and real or not."""
