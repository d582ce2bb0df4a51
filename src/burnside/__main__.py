"""``python -m burnside`` is the command line."""

from burnside.cli import main

raise SystemExit(main())
