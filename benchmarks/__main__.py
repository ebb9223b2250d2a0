"""Entry point of `python -m benchmarks SUITE`: run the scenarios of a suite and print the results."""

from benchmarks.command import main

if __name__ == "__main__":
    main()
