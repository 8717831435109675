"""Every operator's contract: a program around it with any arguments and any streams, a file each.

``contract(draft)`` builds one, and asks ``draft`` for every choice. `tests/test_contract.py` lets Hypothesis choose,
which finds a smallest program that breaks it, and random numbers, for many programs in one build of the RTL.
"""
