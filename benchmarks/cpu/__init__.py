"""Speed, memory and accuracy on a CPU."""
