"""The tracks, one small file each."""
