"""The main job: `python run.py --track filtered` is `ann-bench run --track filtered`."""

import sys

from ann_bench.cli import main

if __name__ == "__main__":
    sys.exit(main(["run", *sys.argv[1:]]))
