"""Speed and accuracy on a GPU."""
