"""`python -m icaps` is the `icaps` command."""

import sys

from icaps.cli import main

sys.exit(main())
