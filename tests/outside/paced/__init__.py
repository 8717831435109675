"""An operator that somebody else wrote: its meaning and its rule, of which its timing and its hardware are made."""
