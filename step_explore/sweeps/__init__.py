"""Many runs of one program with other parameters: grids and searches, in processes or on a cluster, kept in tables."""
