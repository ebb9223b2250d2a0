"""Stage the rows of files, as a program: `spark-submit jobs/stage.py s3a://raw/rows/ graveler://lake/main`."""

import sys

from graveler_core.cli.startup import main

if __name__ == "__main__":
    main(["stage", "--cluster", "spark", "--json", *sys.argv[1:]])
