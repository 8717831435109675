"""Random programs: well-typed graphs made from seeds, with empties everywhere, and what all back ends must agree on.

A program grows step by step (`step_check.fuzz.steps`): each adds operators over what streams carry by then, with
whatever types, shapes and depths of channels fit. So selectors, references and promised shapes are always right. One
that fails is made smaller (`step_check.fuzz.shrink`) as long as it fails in the same way.
"""
