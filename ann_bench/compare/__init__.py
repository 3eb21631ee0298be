"""One result held against another: at the same recall, over time, and against itself, measured again."""
