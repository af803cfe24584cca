"""`python -m icaps` is the `icaps` command."""

import sys

from icaps.cli.main import main

sys.exit(main())
