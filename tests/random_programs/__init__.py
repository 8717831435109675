"""Random programs with empties everywhere, and what they must do in every back end.

A program is made from a seed: some operators over nested lists, with whatever types, shapes and depths of channels fit.
The oracle (`meaning`) says what every stream carries while the program grows, so that selectors, references and
promised shapes are always right. ``PYTHONPATH=tests python -m random_programs SEED`` runs one again and shows it.
"""
