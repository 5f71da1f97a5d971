"""Models are run: in this process by ONNX, or elsewhere over HTTP. What texts and answers mean is not known here."""
