"""Run the command line with ``python -m recollect``."""

from recollect.cli import main

main()
