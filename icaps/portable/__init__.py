"""A trained model without torch: one HTML file that explains texts by itself; ONNX, its runner."""
