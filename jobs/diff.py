"""Count the paths that differ between refs, as a program: `spark-submit jobs/diff.py graveler://lake/main~1..main`."""

import sys

from graveler_core.cli.startup import main

if __name__ == "__main__":
    main(["diff", "--stat", "--cluster", "spark", "--json", *sys.argv[1:]])
