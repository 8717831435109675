// What slang looks for in the emitted Verilog, which is everything but this: slang -f slang.f -F fabric.f
-Weverything

// Amaranth writes operands with as few bits as they need, and Verilog extends them: the widths on both sides of an
// operator differ wherever Amaranth's did not. Its wires are bits without a sign; operators are told of one by
// $signed, and their bits are assigned as they are.
-Wno-width-trunc
-Wno-width-expand
-Wno-arith-op-mismatch
-Wno-sign-compare
-Wno-sign-conversion

// An output that nobody reads stays open, or its wire unread: a stream that the program drops, the status of a unit
// without probes, the carry of a sum.
-Wno-empty-output-connection
-Wno-unused-but-set-net
-Wno-unused-but-set-variable

// All units have a clock and a reset, and ports for all that their kind may need.
-Wno-unused-port
-Wno-unused-net
-Wno-unused-parameter
