/* Driver of a board that `step board` wrote: C99, of the library only string.h.
 *
 * fabric_NAME.h declares the tables of a design. A host opens it, gives its images places in memory, writes tensors
 * and streams, starts a run and waits, and reads what came out. Runs follow each other without a reset:
 *
 *     static step_region regions[FABRIC_NAME_IMAGES];
 *     step_board board;
 *     step_board_open(&board, &fabric_name, REGISTERS, regions);
 *     step_board_place_all(&board, address, memory, sizeof memory);
 *     step_write_tensor(&board, FABRIC_NAME_TENSOR_X, x, sizeof x);
 *     step_board_start(&board);
 *     if (step_board_wait(&board) == STEP_OK) step_read_tensor(&board, FABRIC_NAME_TENSOR_Y, y, sizeof y);
 *
 * What was written stays, so weights are written once. Two step_board on the same registers, each with regions of its
 * own, are two sets of buffers: one is written while the other one runs. Images that both only read have one place.
 *
 * The processor is little endian, as images are.
 */
#ifndef STEP_BOARD_H
#define STEP_BOARD_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How registers are reached, what happens in a loop that waits, and what caches need before and after a run. For caches
 * by the line, and for memory that only the board sees: bytes of an image that the processor has written at data, and
 * those that it is about to read there. */
#ifndef STEP_READ32
#define STEP_READ32(address) (*(volatile const uint32_t *)(address))
#endif
#ifndef STEP_WRITE32
#define STEP_WRITE32(address, value) (*(volatile uint32_t *)(address) = (value))
#endif
#ifndef STEP_IDLE
#define STEP_IDLE() ((void)0)
#endif
#ifndef STEP_BEFORE_RUN
#define STEP_BEFORE_RUN() ((void)0)
#endif
#ifndef STEP_AFTER_RUN
#define STEP_AFTER_RUN() ((void)0)
#endif
#ifndef STEP_WRITTEN
#define STEP_WRITTEN(address, data, bytes) ((void)0)
#endif
#ifndef STEP_TO_READ
#define STEP_TO_READ(address, data, bytes) ((void)0)
#endif

/* Requests of a part of a stream that DMA counts. */
#define STEP_MOST_REQUESTS 0xfffffffu

/* What functions return. */
enum {
    STEP_OK = 0,
    STEP_RUNNING = 1,   /* a run goes on */
    STEP_BUSY = -1,     /* a start during a run, or a second one in the queue; that goes on */
    STEP_SHAPE = -2,    /* data of another size, or lengths that do not fit the stream */
    STEP_ALIGN = -3,    /* an address that is no multiple of a beat */
    STEP_OVERLAP = -4,  /* two images at the same place */
    STEP_SPACE = -5,    /* too little room, or beyond the address space of the bus or what DMA counts */
    STEP_FAULT = -6,    /* the run met a fault: step_board_fault says which */
    STEP_DESIGN = -7,   /* registers of something else, or of another design */
    STEP_PLACE = -8,    /* an image has no place yet */
    STEP_UNFINISHED = -9, /* a sink whose stream has not ended */
    STEP_DROPPED = -10  /* a run in the queue of one that failed: it has to be started again */
};

/* A tile of an element: row-major scalars, a byte for each bit where they are BOOL; of a selector a byte a target. */
typedef struct {
    uint32_t rows; /* 0: as many as the lengths say */
    uint32_t columns;
    uint32_t bits; /* of a scalar: 1, 8, 16 or 32 */
} step_tile;

#define STEP_DYNAMIC 0xffffffffu
#define STEP_NONE 0xffffu

/* Memory with a base address of its own. */
typedef struct {
    const char *name;
    uint64_t offset;     /* its place in the memory image of the folder */
    uint64_t bytes;      /* what it takes there; of streams with lengths the data may be more */
    uint16_t base_low;   /* registers */
    uint16_t base_high;  /* 0: there is none */
    uint16_t limit;      /* register of the bytes that a sink may write; 0: there is none */
} step_image;

/* A tensor as it lies in an image: tile by tile, row-major, each tile in whole beats. */
typedef struct {
    step_tile tile;
    uint32_t tile_bytes;
    uint16_t image;
} step_tiling;

/* A tensor [outer, height, width]; it has an image for each operator that reads it. */
typedef struct {
    const char *name;
    uint32_t outer; /* STEP_DYNAMIC: as many as there is room for, of a store of any number of tiles */
    uint32_t height, width;
    const step_tiling *tilings;
    uint16_t tiling_count;
} step_tensor;

/* A stream in memory. */
typedef struct {
    const char *name;
    const uint32_t *extents; /* of its dimensions, outermost first; STEP_DYNAMIC where a length says it */
    const step_tile *parts;  /* of an element: one, or the items of a tuple */
    uint16_t rank, part_count;
    uint16_t is_source;
    uint16_t has_rows;      /* lengths say the rows of each element */
    uint32_t word_bytes;    /* a part is a multiple of it; 0: nobody reads values */
    uint32_t unit_bytes;    /* an element is a multiple of it */
    uint32_t request_bytes; /* an image is a multiple of it */
    uint16_t values, list;  /* images; STEP_NONE without one */
} step_stream;

/* Everything about a design. */
typedef struct {
    const char *name;
    uint32_t hash, beat_bytes, address_bits;
    const step_image *images;
    const step_tensor *tensors;
    const step_stream *streams;
    const char *const *units; /* names, by number */
    const char *const *ports; /* of memory, by number */
    uint16_t image_count, tensor_count, stream_count, unit_count, port_count;
} step_design;

/* Where an image is: its address on the bus, and where the processor sees it. */
typedef struct {
    uint64_t address;
    void *data; /* NULL: it has no place yet */
    size_t bytes;
} step_region;

typedef struct {
    const step_design *design;
    uintptr_t registers;
    step_region *regions;    /* one for each image */
    volatile uint32_t events; /* interrupts that step_board_isr has seen since the start */
    uint16_t number;         /* of its last run: so many are done then */
} step_board;

/* Begin: STEP_DESIGN where the registers are not those of the design. All regions lose their places. */
int step_board_open(step_board *board, const step_design *design, uintptr_t registers, step_region *regions);

/* Put an image at an address of the bus, where the processor sees it at data: STEP_ALIGN, STEP_OVERLAP, STEP_SPACE. */
int step_board_place(step_board *board, unsigned image, uint64_t address, void *data, size_t bytes);

/* Put all images into one piece of memory, as the memory image of the folder has them. */
int step_board_place_all(step_board *board, uint64_t address, void *data, size_t bytes);

/* A tensor from a row-major array and back; bytes is the size of the whole array, else STEP_SHAPE. Of a store of any
 * number of tiles it is that of as many as shall be read. */
int step_write_tensor(step_board *board, unsigned tensor, const void *array, size_t bytes);
int step_read_tensor(const step_board *board, unsigned tensor, void *array, size_t bytes);

/* A stream from its elements, one after the other, and its lengths: of each dimension that is not static, when it
 * begins, so outer ones before those inside, and of the rows of an element before it. */
int step_write_stream(
    step_board *board, unsigned stream, const void *values, size_t bytes, const uint32_t *lengths, size_t count);

/* A stream that came out: its elements, and the lengths of all its dimensions in the same order. *bytes and *count are
 * the room first, and then what came. STEP_SPACE where it is too little; they say how much it takes. */
int step_read_stream(
    const step_board *board, unsigned stream, void *values, size_t *bytes, uint32_t *lengths, size_t *count);

/* Start a run: STEP_BUSY during one, STEP_PLACE for an image without a place. */
int step_board_start(step_board *board);

/* Start a run behind the one of another step_board on these registers: the board begins it at the end of that one, or
 * at once, unless that one fails. STEP_BUSY where one is in the queue. */
int step_board_queue(step_board *board);

/* STEP_RUNNING, STEP_OK, STEP_FAULT or STEP_DROPPED. */
int step_board_poll(const step_board *board);

/* Poll until the run is over, with STEP_IDLE in between. */
int step_board_wait(const step_board *board);

/* End a run; the next start begins another one. After STEP_FAULT the fabric goes on until then, and may write to its
 * images: reset, and wait for STEP_REG_STATUS_IDLE, before you write inputs or use that memory for something else. */
void step_board_reset(step_board *board);

/* Interrupts to have: STEP_REG_INTERRUPT_DONE, _FAULT and _WATCHDOG of step_registers.h. */
void step_board_interrupts(step_board *board, uint32_t which);

/* For the handler of the interrupt: clears what there is, adds it to board->events, and returns it. */
uint32_t step_board_isr(step_board *board);

/* Cycles without movement after which a run fails; 0: never. */
void step_board_watchdog(step_board *board, uint32_t cycles);

/* Compare memory after a run of the program's own data with data/expected.bin of the folder, in the bits of
 * data/mask.bin: the first byte that differs, or bytes where none does. */
size_t step_board_differs(const void *memory, const void *expected, const void *mask, size_t bytes);

/* Cycles of the last run, until the second start behind it. */
uint64_t step_board_cycles(const step_board *board);

/* The fault of the last run. */
typedef struct {
    uint32_t code;
    const char *text;   /* what happened */
    const char *where;  /* the unit or the port of memory; "" for others */
    uint64_t address;   /* of a fault of memory, else 0 */
    int memory_waits;   /* the watchdog: memory did not answer */
} step_fault;
void step_board_fault(const step_board *board, step_fault *fault);

/* After the watchdog: who waits for whom. Writes at most room entries, and returns how many there are. */
typedef struct {
    const char *unit, *awaited;
    int starved; /* waits for a token; else for room */
} step_wait;
size_t step_board_waits(step_board *board, step_wait *waits, size_t room);

/* What a unit does: 0 starved, 1 busy, 2 blocked, 3 finished. */
uint32_t step_board_activity(step_board *board, unsigned unit);

/* Names of codes. */
const char *step_result_text(int result);
const char *step_fault_text(uint32_t code);

/* Layouts, without a board. Streams: room of images in, what they take out; without an image it is only measured. */
void step_pack_tensor(const step_tensor *tensor, unsigned tiling, uint32_t outer, const void *array, void *image);
void step_unpack_tensor(const step_tensor *tensor, unsigned tiling, uint32_t outer, const void *image, void *array);
size_t step_matrix_bytes(const step_tensor *tensor); /* of one of the outer matrices */
int step_pack_stream(
    const step_stream *stream, const void *values, size_t bytes, const uint32_t *lengths, size_t count,
    void *value_image, size_t *value_bytes, void *list_image, size_t *list_bytes);
int step_unpack_stream(
    const step_stream *stream, const void *value_image, size_t *value_bytes, const void *list_image, size_t list_bytes,
    void *values, size_t *bytes, uint32_t *lengths, size_t *count);

#ifdef __cplusplus
}
#endif

#endif
