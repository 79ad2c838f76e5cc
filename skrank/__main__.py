"""Start the command: ``python -m skrank``."""

import sys

from skrank._cli.main import main

if __name__ == "__main__":
    sys.exit(main())
