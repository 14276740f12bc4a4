"""The algorithms of tensor-core QR, over an engine."""
