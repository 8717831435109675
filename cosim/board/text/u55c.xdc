# Pins of an Alveo U55C that its board files do not give to the block design: two crystals of 100 MHz, and the output that
# has the card turned off when HBM is too hot.
set_property -dict {PACKAGE_PIN BK43 IOSTANDARD LVDS} [get_ports sysclk3_clk_p]
set_property -dict {PACKAGE_PIN BK44 IOSTANDARD LVDS} [get_ports sysclk3_clk_n]
set_property -dict {PACKAGE_PIN BK10 IOSTANDARD LVDS} [get_ports sysclk2_clk_p]
set_property -dict {PACKAGE_PIN BL10 IOSTANDARD LVDS} [get_ports sysclk2_clk_n]
set_property -dict {PACKAGE_PIN BE45 IOSTANDARD LVCMOS18 PULLTYPE PULLDOWN} [get_ports hbm_cattrip]
