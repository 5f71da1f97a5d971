"""Files and records become notes."""
