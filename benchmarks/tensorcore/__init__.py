"""The tensor-core path beside cuSOLVER."""
