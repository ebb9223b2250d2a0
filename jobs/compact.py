"""Compact the staged changes of a branch, as a program: `spark-submit jobs/compact.py graveler://lake/main`."""

import sys

from graveler_core.cli.startup import main

if __name__ == "__main__":
    main(["compact", "--cluster", "spark", "--json", *sys.argv[1:]])
