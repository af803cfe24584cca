"""How good a model is: scores with intervals, calibration, rejection, slices, comparisons."""
