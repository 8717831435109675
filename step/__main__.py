"""``python -m step``."""

from step.cli import main

main()
