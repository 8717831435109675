"""Meanings of functions."""
