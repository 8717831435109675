"""What every operator means, said a second time: on nested lists, where `step.ops` speaks of tokens and stops.

A stream of rank N is a list of tensors of rank N; a tensor of rank r is a list of tensors of rank r - 1, and one of
rank 0 an element. So the entries of dimension d (counted from the innermost, 0) lie N + 1 - d levels deep, and an empty
tensor is an empty list, wherever it is: nothing of how tokens spell it is known here.

One file per operator, with the operator's name, holds ``meaning(operator, given, *streams)``: from the nested lists of
its inputs to the list of those of its outputs (of a sink or store: of what leaves the program). It is written from the
definition of the language, not from `Operator.process`, so that a mistake there has no twin here. Functions are applied
as `step.functions` defines them; they have tests of their own.
"""
