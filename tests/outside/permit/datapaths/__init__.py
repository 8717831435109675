"""Datapaths of functions."""
