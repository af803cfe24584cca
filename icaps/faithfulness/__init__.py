"""Whether an explanation is the model's own reason, measured beside random controls."""
