# Builds and runs the Verilog of a fabric with make, Verilator and cocotb.
#
#   step verilog PROGRAM -o DIR --bench     writes DIR/*.v, DIR/fabric.json and the input DIR/data/
#   make -f verilator.mk DIR=DIR run        builds the simulator and runs it on that data
#
# Targets
#   lint    Verilator's warnings for the fabric and its bench
#   build   the simulator, in OUT
#   run     one run; what it recorded goes to RUN (formats: the heads of cosim/building/verilog/*.sv)
#   waves   the same with waves, in WAVES
#   clean   removes OUT
#
# Variables
#   DIR         directory of the fabric
#   DATA        its input: source.NAME for each source, memory, memory.timing  (DIR/data)
#   OUT         where to build                                           (DIR/build)
#   RUN         where a run records                                      (OUT/run)
#   WAVES       where waves go                                           (OUT/waves.vcd)
#   MAX_CYCLES  a run of more cycles is a runaway                        (1000000000)
#   WATCHDOG    it is over when nothing moves for so many cycles         (settling_cycles of fabric.json)
#   LOG         1: record the event of every token, 0: do not            (1)
#   PYTHON      a Python with this project                               (python3)

DIR        ?= .
DATA       ?= $(DIR)/data
OUT        ?= $(DIR)/build
RUN        ?= $(OUT)/run
WAVES      ?= $(OUT)/waves.vcd
MAX_CYCLES ?= 1000000000
WATCHDOG   ?=
LOG        ?= 1
PYTHON     ?= python3

PROJECT := $(dir $(abspath $(lastword $(MAKEFILE_LIST))))
ASK     := PYTHONPATH=$(PROJECT):$$PYTHONPATH $(PYTHON) -m cosim.running.makefile
PLAIN   := $(OUT)/plain
TRACED  := $(OUT)/traced

# make takes blanks for ends of names.
ifneq ($(words $(PROJECT) $(DIR) $(DATA) $(OUT) $(RUN) $(WAVES) $(PYTHON)),7)
$(error a path has a blank in its name, which make can not read: move the project, DIR, DATA, OUT, RUN, WAVES or PYTHON)
endif

.PHONY: help lint build run waves clean

help:
	@sed -n 's/^# \{0,1\}//p' $(PROJECT)verilator.mk

# tools.mk says which Verilator is used and how; make writes it first, then reads it.
ifneq ($(filter lint build run waves,$(MAKECMDGOALS)),)
include $(PLAIN)/tools.mk
endif

$(PLAIN)/tools.mk: $(DIR)/fabric.json
	@$(ASK) prepare $(DIR) $(PLAIN)

$(TRACED)/tools.mk: $(DIR)/fabric.json
	@$(ASK) prepare $(DIR) $(TRACED) vcd

# Simulation hardware counts with blocking assignments, and its instance `memory` has a memory of that name.
lint: $(PLAIN)/tools.mk
	cd $(PLAIN) && $(VERILATOR) --lint-only -Wall -Wno-fatal -Wno-DECLFILENAME -Wno-BLKSEQ -Wno-VARHIDDEN \
	    --top-module bench \
	    $(abspath $(wildcard $(DIR)/*.vlt)) bench.sv $(filter-out %.cpp,$(SOURCES))

build: $(PLAIN)/objects/Vtop

$(OUT)/%/objects/Vtop: $(OUT)/%/tools.mk $(SOURCES)
	cd $(OUT)/$* && $(VERILATOR) -f verilator.f
	$(MAKE) -C $(OUT)/$*/objects -f $(OBJECTS_MK) $(TOOL_VARIABLES) OPT_FAST="$(OPTIMIZATION)"
	@touch $@

# $(call simulate,directory of the build,more arguments)
define simulate
	@rm -rf $(RUN) && mkdir -p $(RUN) && cp $(DATA)/* $(RUN)/
	STEP_RUN_DIRECTORY=$(RUN) COCOTB_RESULTS_FILE=$(RUN)/results.xml $(1)/objects/Vtop +directory=$(RUN) \
	    +max_cycles=$(MAX_CYCLES) $(if $(WATCHDOG),+watchdog=$(WATCHDOG)) $(if $(filter 1,$(LOG)),+log) $(2) > $(RUN)/simulator.log
	@$(ASK) report $(DIR) $(RUN)
endef

run: $(PLAIN)/objects/Vtop
	$(call simulate,$(PLAIN),)

waves: $(TRACED)/objects/Vtop
	$(call simulate,$(TRACED),--trace --trace-file $(WAVES))
	@test -s $(WAVES) || { echo "no waves were written to $(WAVES)" >&2; exit 4; }

clean:
	rm -rf $(OUT)
