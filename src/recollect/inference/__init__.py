"""What embedders and rerankers use to run models: in this process with ONNX, or over HTTP."""
