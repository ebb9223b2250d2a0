"""Collect content that nothing names, as a program: `spark-submit jobs/collect.py graveler://lake`."""

import sys

from graveler_core.cli.startup import main

if __name__ == "__main__":
    main(["gc", "--data", "--yes", "--cluster", "spark", "--json", *sys.argv[1:]])
