"""A training as a process: its folder, its queue and its log."""
