"""Python modules of the scripts in this folder; tests import them."""
