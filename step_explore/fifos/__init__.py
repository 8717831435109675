"""How deep the FIFOs of a program have to be: found by running it, on the data that is given."""
