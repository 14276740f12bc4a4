"""The tensor-core path against cuSOLVER."""
