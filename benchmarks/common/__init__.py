"""What all groups share: rows, timers, the environment, tables, the runner."""
