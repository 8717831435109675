"""Services of the machine that the toolkit runs on: files, the cache, libraries in C++, and somebody who is told
of progress."""
