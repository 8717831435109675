"""The published simulator's timing, as a back end of its own: to compare with, and to be trusted only for that.

Sohn et al., "Streaming Tensor Programs" (ASPLOS 2026), and the artifact that comes with it: operators are contexts with
local time, which run one element after the other and are joined by channels with time stamps.
"""
