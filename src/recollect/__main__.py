"""``python -m recollect`` is the command line."""

from recollect.cli import main

main()
