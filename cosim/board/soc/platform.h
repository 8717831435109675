/* What the driver has to know of this processor; part of every C file. */
#ifndef __ASSEMBLER__
#include <system.h>

/* Its cache of data does not see what the board writes. What the processor writes is in memory at once. */
#define STEP_AFTER_RUN() flush_cpu_dcache()
#endif
