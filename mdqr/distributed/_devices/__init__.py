"""Several GPUs, in one process or with one process each and a communicator."""
