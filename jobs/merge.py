"""Merge a ref into a branch, as a program: `spark-submit jobs/merge.py graveler://lake/dev graveler://lake/main`."""

import sys

from graveler_core.cli.startup import main

if __name__ == "__main__":
    main(["merge", "--cluster", "spark", "--json", *sys.argv[1:]])
