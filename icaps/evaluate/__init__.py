"""Evaluation of classifiers on labelled texts: predictions, scores, calibration, comparison."""
