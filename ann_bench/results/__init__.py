"""The result bundle: written once, read, verified, exported."""
