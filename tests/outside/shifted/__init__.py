"""An operator that somebody else wrote, whose rule holds a token, and takes others that never go out."""
