"""Import objects of an object store, as a program: `spark-submit jobs/importing.py s3://raw/ graveler://lake/main`."""

import sys

from graveler_core.cli.startup import main

if __name__ == "__main__":
    main(["import", "--cluster", "spark", "--json", *sys.argv[1:]])
