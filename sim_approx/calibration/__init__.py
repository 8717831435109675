"""How long functions take as it was measured on RTL, in files that ``step calibrate`` writes (docs/calibration.md)."""
