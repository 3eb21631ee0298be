"""A static site of results: pages that work from a disk, without a server and without a network."""
