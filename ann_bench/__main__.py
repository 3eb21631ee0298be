"""`python -m ann_bench` is `ann-bench`."""

import sys

from ann_bench.cli import main

sys.exit(main())
