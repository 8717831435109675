// A multiplier of an ECP5 as far as products without a sign use it, of 6 bits each. In the place of the product stand its
// operands, from which it would be made: where these are equal, it is.
module MULT18X18D #(
  parameter REG_INPUTA_CLK = "NONE", parameter REG_INPUTA_CE = "CE0",
  parameter REG_INPUTB_CLK = "NONE", parameter REG_INPUTB_CE = "CE0",
  parameter REG_OUTPUT_CLK = "NONE", parameter REG_OUTPUT_CE = "CE0"
) (
  input A0, A1, A2, A3, A4, A5, A6, A7, A8, A9, A10, A11, A12, A13, A14, A15, A16, A17,
  input B0, B1, B2, B3, B4, B5, B6, B7, B8, B9, B10, B11, B12, B13, B14, B15, B16, B17,
  input C0, C1, C2, C3, C4, C5, C6, C7, C8, C9, C10, C11, C12, C13, C14, C15, C16, C17,
  input SIGNEDA, SIGNEDB, SOURCEA, SOURCEB, CLK0, CE0, CE1, CE2,
  output P0, P1, P2, P3, P4, P5, P6, P7, P8, P9, P10, P11, P12, P13, P14, P15, P16, P17, P18, P19, P20, P21, P22, P23,
  output P24, P25, P26, P27, P28, P29, P30, P31, P32, P33, P34, P35
);
  wire [17:0] a = {A17, A16, A15, A14, A13, A12, A11, A10, A9, A8, A7, A6, A5, A4, A3, A2, A1, A0};
  wire [17:0] b = {B17, B16, B15, B14, B13, B12, B11, B10, B9, B8, B7, B6, B5, B4, B3, B2, B1, B0};
  reg [17:0] held_a = 0, held_b = 0;
  reg [35:0] held_p = 0;
  wire [17:0] first = REG_INPUTA_CLK == "CLK0" ? held_a : a;
  wire [17:0] second = REG_INPUTB_CLK == "CLK0" ? held_b : b;
  wire [35:0] product = {second[5:0], first[5:0]};
  always @(posedge CLK0) begin
    if (REG_INPUTA_CE == "CE0" ? CE0 : REG_INPUTA_CE == "CE1" ? CE1 : CE2) held_a <= a;
    if (REG_INPUTB_CE == "CE0" ? CE0 : REG_INPUTB_CE == "CE1" ? CE1 : CE2) held_b <= b;
    if (REG_OUTPUT_CE == "CE0" ? CE0 : REG_OUTPUT_CE == "CE1" ? CE1 : CE2) held_p <= product;
  end
  assign {P35, P34, P33, P32, P31, P30, P29, P28, P27, P26, P25, P24, P23, P22, P21, P20, P19, P18,
    P17, P16, P15, P14, P13, P12, P11, P10, P9, P8, P7, P6, P5, P4, P3, P2, P1, P0} =
    REG_OUTPUT_CLK == "CLK0" ? held_p : product;
endmodule

// A block RAM of an ECP5 that is read. In the place of words stand the addresses, from which they would be read.
module DP16KD #(
  parameter DATA_WIDTH_A = 18, parameter REGMODE_A = "NOREG", parameter REGMODE_B = "NOREG"
) (
  input ADA0, ADA1, ADA2, ADA3, ADA4, ADA5, ADA6, ADA7, ADA8, ADA9, ADA10, ADA11, ADA12, ADA13,
  input ADB0, ADB1, ADB2, ADB3, ADB4, ADB5, ADB6, ADB7, ADB8, ADB9, ADB10, ADB11, ADB12, ADB13,
  input DIA0, DIA1, DIA2, DIA3, DIA4, DIA5, DIA6, DIA7, DIA8, DIA9, DIA10, DIA11, DIA12, DIA13, DIA14, DIA15, DIA16,
  DIA17,
  input DIB0, DIB1, DIB2, DIB3, DIB4, DIB5, DIB6, DIB7, DIB8, DIB9, DIB10, DIB11, DIB12, DIB13, DIB14, DIB15, DIB16,
  DIB17,
  input CLKA, CLKB, CEA, CEB, OCEA, OCEB, WEA, WEB, RSTA, RSTB, CSA0, CSA1, CSA2, CSB0, CSB1, CSB2,
  output DOA0, DOA1, DOA2, DOA3, DOA4, DOA5, DOA6, DOA7, DOA8, DOA9, DOA10, DOA11, DOA12, DOA13, DOA14, DOA15, DOA16,
  DOA17,
  output DOB0, DOB1, DOB2, DOB3, DOB4, DOB5, DOB6, DOB7, DOB8, DOB9, DOB10, DOB11, DOB12, DOB13, DOB14, DOB15, DOB16,
  DOB17
);
  localparam WIDE = DATA_WIDTH_A == 36;
  wire clock_a = WIDE ? CLKB : CLKA, enable_a = WIDE ? OCEB : OCEA;
  reg [13:0] at_a = 0, at_b = 0;
  reg [17:0] held_a = 0, held_b = 0;
  wire [17:0] word_a = WIDE ? {at_b, 4'h0} : at_a, word_b = at_b;
  always @(posedge CLKA) if (CEA)
    at_a <= {ADA13, ADA12, ADA11, ADA10, ADA9, ADA8, ADA7, ADA6, ADA5, ADA4, ADA3, ADA2, ADA1, ADA0};
  always @(posedge CLKB) if (CEB)
    at_b <= {ADB13, ADB12, ADB11, ADB10, ADB9, ADB8, ADB7, ADB6, ADB5, ADB4, ADB3, ADB2, ADB1, ADB0};
  always @(posedge clock_a) if (enable_a) held_a <= word_a;
  always @(posedge CLKB) if (OCEB) held_b <= word_b;
  assign {DOA17, DOA16, DOA15, DOA14, DOA13, DOA12, DOA11, DOA10, DOA9, DOA8, DOA7, DOA6, DOA5, DOA4, DOA3, DOA2,
  DOA1, DOA0} = REGMODE_A == "OUTREG" ? held_a : word_a;
  assign {DOB17, DOB16, DOB15, DOB14, DOB13, DOB12, DOB11, DOB10, DOB9, DOB8, DOB7, DOB6, DOB5, DOB4, DOB3, DOB2,
  DOB1, DOB0} = REGMODE_B == "OUTREG" ? held_b : word_b;
endmodule
