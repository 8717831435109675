"""Random programs and samples of operators, and whether what runs is what should run."""
