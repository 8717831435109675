"""The event engine, and the words of its machines."""
