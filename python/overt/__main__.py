"""`python -m overt serve …` is `overt serve …`."""

import sys

from overt.cli import main

if __name__ == "__main__":
    sys.exit(main())
