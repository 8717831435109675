"""Programs as files: Python, JSON, their schemas and digests."""
