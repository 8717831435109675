"""One run of a built fabric: its files, its process, and what it says when it stops."""
