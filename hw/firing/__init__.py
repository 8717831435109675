"""Units as firing machines: `rule` says what a firing is, `machine` when it happens, `unit` makes it a module."""
