"""RTL, fast model, interpreter and symbolic metric beside each other."""
