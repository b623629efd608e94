"""`python -m arena`: the same as the console script `arena`."""

from arena.cli import main

if __name__ == "__main__":
    main()
