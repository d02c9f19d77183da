"""ONNX: the encoder and one decoding step of a model as graphs that ONNX Runtime executes."""
