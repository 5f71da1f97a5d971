"""The formats in which judged collections come, each read by one file."""
