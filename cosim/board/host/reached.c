/* The one board of Python: DESIGN is that of its tables, in HEADER, and IMAGES counts its images. */
#include HEADER

uint32_t (*host_read32)(uintptr_t address);
void (*host_write32)(uintptr_t address, uint32_t value);
void (*host_before_run)(void);

step_board host_board;
static step_region regions[IMAGES];

int host_open(void) { return step_board_open(&host_board, &DESIGN, 0, regions); }
