"""What wrappers of other benchmarks import from there, written anew: base classes, file formats, data sets."""
