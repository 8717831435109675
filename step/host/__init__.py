"""What the toolkit wants of the machine that it runs on: files, the cache, libraries in C++, and somebody who is told
of progress."""
