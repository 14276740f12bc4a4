"""Rows in files: limbs in zarr, HDF5 and Parquet, decimal numbers in text and Parquet."""
