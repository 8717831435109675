"""Area and clock of a program's RTL on an ECP5, by Yosys and nextpnr: ``step synth``."""
