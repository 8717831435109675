"""A run as a page on which tokens move along the channels of the graph."""
