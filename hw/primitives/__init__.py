"""Delay lines, small memories, and windows of cycles."""
