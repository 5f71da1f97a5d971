"""Speed, measured as ratios against a peer in the same run: ``scripts/bench``."""
