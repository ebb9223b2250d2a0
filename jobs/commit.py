"""Commit the staged changes of a branch, as a program: `spark-submit jobs/commit.py graveler://lake/main -m …`."""

import sys

from graveler_core.cli.startup import main

if __name__ == "__main__":
    main(["commit", "--cluster", "spark", "--json", *sys.argv[1:]])
