/* The boards of Python, one for each set of buffers: DESIGN is that of its tables, in HEADER, and IMAGES counts its
 * images. */
#include HEADER

uint32_t (*host_read32)(uintptr_t address);
void (*host_write32)(uintptr_t address, uint32_t value);
void (*host_written)(uint64_t address, void *data, size_t bytes);
void (*host_to_read)(uint64_t address, void *data, size_t bytes);

static step_board boards[2];
static step_region regions[2][IMAGES];

step_board *host_board(unsigned number) { return &boards[number]; }

int host_open(unsigned number) { return step_board_open(&boards[number], &DESIGN, 0, regions[number]); }
