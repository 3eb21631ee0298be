"""The worker: the only code of the project that runs inside the sandbox."""
