"""Training: data set, loop, optimizer, objectives, calibration, checkpoint and resume."""
