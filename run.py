"""The main job: `python run.py --track filtered` is `ann-bench run --track filtered`."""

import sys

if __name__ == "__main__":
    try:
        from ann_bench.cli import script
    except KeyboardInterrupt:
        sys.exit(130)
    except ModuleNotFoundError as error:
        sys.exit(f"error: {error}; install it into this environment: python -m pip install -e .")
    sys.argv.insert(1, "run")
    script()
