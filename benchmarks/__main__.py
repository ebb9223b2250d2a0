"""`python -m benchmarks SUITE`: measure, and print what was measured."""

from benchmarks.command import main

if __name__ == "__main__":
    main()
