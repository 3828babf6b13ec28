"""`python -m sgbt` is `sgbt`."""

from sgbt.cli import main

if __name__ == "__main__":
    main()
