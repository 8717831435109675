"""Tables, claims and plots, made of results. Nothing in here decides a result."""
