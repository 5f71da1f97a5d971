"""Run models: in this process with ONNX, or over HTTP."""
