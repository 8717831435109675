"""Mutants that the tests do not see: random changes of the source, each run against the tests likely to see it.

    python -m benchmarks.mutation run [NUMBER ...]    # these mutants, or all; those that have a result are done
    python -m benchmarks.mutation show                # the score of each room, and the survivors

All is kept in ``MUTATION_DIRECTORY`` (or ``/tmp/step-mutation``), in which the project is copied: delete it to begin
anew. Several can run at once, on other mutants, which are the same every time until the sources change. A survivor is
to be looked at: it is equivalent, or a test is missing, or the test that sees it is not among those that were chosen.
"""
