/* Runs of a board: places in memory, start, end and faults. */
#include "step_board.h"

#include <string.h>

#include "step_registers.h"

static uint32_t read_register(const step_board *board, unsigned address)
{
    return STEP_READ32(board->registers + address);
}

static void write_register(const step_board *board, unsigned address, uint32_t value)
{
    STEP_WRITE32(board->registers + address, value);
}

static uint16_t runs_done(uint32_t status) { return (status & STEP_REG_STATUS_RUNS) >> STEP_REG_STATUS_RUNS_LOW; }

/* How many runs were done after that of the board; negative before its end. */
static int runs_behind(const step_board *board, uint32_t status) { return (int16_t)(runs_done(status) - board->number); }

int step_board_open(step_board *board, const step_design *design, uintptr_t registers, step_region *regions)
{
    board->design = design;
    board->registers = registers;
    board->regions = regions;
    board->events = 0;
    board->number = runs_done(read_register(board, STEP_REG_STATUS));
    memset(regions, 0, design->image_count * sizeof *regions);
    if (read_register(board, STEP_REG_MAGIC) != STEP_MAGIC ||
        read_register(board, STEP_REG_VERSION) != STEP_VERSION ||
        read_register(board, STEP_REG_HASH) != design->hash)
        return STEP_DESIGN;
    return STEP_OK;
}

int step_board_place(step_board *board, unsigned image, uint64_t address, void *data, size_t bytes)
{
    const step_design *design = board->design;
    if (image >= design->image_count || design->images[image].bytes > bytes)
        return STEP_SPACE;
    if (design->address_bits < 64) {
        uint64_t end = (uint64_t)1 << design->address_bits;
        if (address >= end || bytes > end - address)
            return STEP_SPACE;
    } else if (bytes && address + (bytes - 1) < address) {
        return STEP_SPACE;
    }
    if (address % design->beat_bytes)
        return STEP_ALIGN;
    for (unsigned each = 0; each < design->image_count; each++) {
        const step_region *other = &board->regions[each];
        if (each != image && other->data &&
            (address < other->address ? other->address - address < bytes : address - other->address < other->bytes))
            return STEP_OVERLAP;
    }
    board->regions[image].address = address;
    board->regions[image].data = data;
    board->regions[image].bytes = bytes;
    return STEP_OK;
}

int step_board_place_all(step_board *board, uint64_t address, void *data, size_t bytes)
{
    const step_design *design = board->design;
    memset(board->regions, 0, design->image_count * sizeof *board->regions);
    for (unsigned each = 0; each < design->image_count; each++) {
        const step_image *image = &design->images[each];
        if (image->offset + image->bytes > bytes)
            return STEP_SPACE;
        int result = step_board_place(
            board, each, address + image->offset, (uint8_t *)data + (size_t)image->offset, (size_t)image->bytes);
        if (result != STEP_OK)
            return result;
    }
    return STEP_OK;
}

/* How many matrices are in so many bytes of a row-major array; STEP_DYNAMIC: not as many as the tensor has. */
static uint32_t matrices_of(const step_tensor *tensor, size_t bytes)
{
    size_t one = step_matrix_bytes(tensor), count = bytes / one;
    if (bytes % one || count >= STEP_DYNAMIC || (tensor->outer != STEP_DYNAMIC && count != tensor->outer))
        return STEP_DYNAMIC;
    return (uint32_t)count;
}

/* Bytes of so many matrices in the region of a tiling, which has to hold them: STEP_PLACE, STEP_SPACE. */
static int measure(
    const step_board *board, const step_tensor *tensor, const step_tiling *tiling, uint32_t outer, size_t *bytes)
{
    const step_region *region = &board->regions[tiling->image];
    size_t tiles = (size_t)(tensor->height / tiling->tile.rows) * (tensor->width / tiling->tile.columns);
    *bytes = outer * tiles * tiling->tile_bytes;
    if (!region->data)
        return STEP_PLACE;
    return *bytes > region->bytes ? STEP_SPACE : STEP_OK;
}

int step_write_tensor(step_board *board, unsigned tensor, const void *array, size_t bytes)
{
    const step_tensor *it = board->design->tensors + tensor;
    uint32_t outer = tensor < board->design->tensor_count ? matrices_of(it, bytes) : STEP_DYNAMIC;
    if (outer == STEP_DYNAMIC)
        return STEP_SHAPE;
    for (unsigned each = 0; each < it->tiling_count; each++) {
        const step_region *region = &board->regions[it->tilings[each].image];
        size_t tiled;
        int result = measure(board, it, &it->tilings[each], outer, &tiled);
        if (result != STEP_OK)
            return result;
        step_pack_tensor(it, each, outer, array, region->data);
        STEP_WRITTEN(region->address, region->data, tiled);
    }
    return STEP_OK;
}

int step_read_tensor(const step_board *board, unsigned tensor, void *array, size_t bytes)
{
    const step_tensor *it = board->design->tensors + tensor;
    uint32_t outer = tensor < board->design->tensor_count ? matrices_of(it, bytes) : STEP_DYNAMIC;
    if (outer == STEP_DYNAMIC)
        return STEP_SHAPE;
    const step_region *region = &board->regions[it->tilings[0].image];
    size_t tiled;
    int result = measure(board, it, it->tilings, outer, &tiled);
    if (result != STEP_OK)
        return result;
    STEP_TO_READ(region->address, region->data, tiled);
    step_unpack_tensor(it, 0, outer, region->data, array);
    return STEP_OK;
}

/* The region of an image of a stream, which may have none. */
static step_region region_of(const step_board *board, unsigned image)
{
    step_region none = {0, NULL, 0};
    return image == STEP_NONE ? none : board->regions[image];
}

static int has_no_place(const step_board *board, const step_stream *stream)
{
    return (stream->values != STEP_NONE && !board->regions[stream->values].data) ||
           (stream->list != STEP_NONE && !board->regions[stream->list].data);
}

int step_write_stream(
    step_board *board, unsigned stream, const void *values, size_t bytes, const uint32_t *lengths, size_t count)
{
    const step_stream *it = board->design->streams + stream;
    if (stream >= board->design->stream_count || !it->is_source)
        return STEP_SHAPE;
    if (has_no_place(board, it))
        return STEP_PLACE;
    step_region to = region_of(board, it->values), list = region_of(board, it->list);
    int result = step_pack_stream(it, values, bytes, lengths, count, to.data, &to.bytes, list.data, &list.bytes);
    if (result == STEP_OK && to.data)
        STEP_WRITTEN(to.address, to.data, to.bytes);
    if (result == STEP_OK && list.data)
        STEP_WRITTEN(list.address, list.data, list.bytes);
    return result;
}

int step_read_stream(
    const step_board *board, unsigned stream, void *values, size_t *bytes, uint32_t *lengths, size_t *count)
{
    const step_stream *it = board->design->streams + stream;
    if (stream >= board->design->stream_count || it->is_source)
        return STEP_SHAPE;
    if (has_no_place(board, it))
        return STEP_PLACE;
    step_region from = region_of(board, it->values), list = region_of(board, it->list);
    size_t head = it->request_bytes, room = *bytes, places = *count, used = from.bytes;
    uint32_t words;
    STEP_TO_READ(list.address, list.data, head);
    memcpy(&words, list.data, sizeof words);
    if (words && words <= (list.bytes - head) / 4)
        STEP_TO_READ(list.address + head, (uint8_t *)list.data + head, 4 * (size_t)words);
    int result = step_unpack_stream(it, NULL, &used, list.data, list.bytes, values, bytes, lengths, count);
    if (result != STEP_OK || !used)
        return result;
    STEP_TO_READ(from.address, from.data, used);
    *bytes = room;
    *count = places;
    return step_unpack_stream(it, from.data, &from.bytes, list.data, list.bytes, values, bytes, lengths, count);
}

/* What a sink may write: a register has 32 bits. */
static uint32_t limit_of(size_t bytes) { return (uint64_t)bytes > 0xffffffffu ? 0xffffffffu : (uint32_t)bytes; }

/* Say where the images of the next run are, and start it. */
static int begin(step_board *board, uint32_t stands_in_the_way, uint32_t control)
{
    const step_design *design = board->design;
    uint32_t status = read_register(board, STEP_REG_STATUS);
    if (status & stands_in_the_way)
        return STEP_BUSY;
    for (unsigned each = 0; each < design->image_count; each++)
        if (!board->regions[each].data)
            return STEP_PLACE;
    for (unsigned each = 0; each < design->image_count; each++) {
        const step_image *image = &design->images[each];
        write_register(board, image->base_low, (uint32_t)board->regions[each].address);
        if (image->base_high)
            write_register(board, image->base_high, (uint32_t)(board->regions[each].address >> 32));
        if (image->limit)
            write_register(board, image->limit, limit_of(board->regions[each].bytes));
    }
    for (unsigned each = 0; each < design->stream_count; each++) /* their lists tell when a stream has ended */
        if (!design->streams[each].is_source) {
            const step_region *list = &board->regions[design->streams[each].list];
            memset(list->data, 0, 8);
            STEP_WRITTEN(list->address, list->data, 8);
        }
    STEP_BEFORE_RUN();
    if (control == STEP_REG_CONTROL_START)
        write_register(board, STEP_REG_INTERRUPT, STEP_REG_INTERRUPT_DONE | STEP_REG_INTERRUPT_FAULT | STEP_REG_INTERRUPT_WATCHDOG);
    board->events = 0;
    int behind_another = control == STEP_REG_CONTROL_QUEUE && status & (STEP_REG_STATUS_BUSY | STEP_REG_STATUS_FAULT);
    board->number = (uint16_t)(runs_done(status) + (behind_another ? 2 : 1));
    write_register(board, STEP_REG_CONTROL, control);
    return STEP_OK;
}

int step_board_start(step_board *board)
{
    return begin(board, STEP_REG_STATUS_BUSY | STEP_REG_STATUS_QUEUED, STEP_REG_CONTROL_START);
}

int step_board_queue(step_board *board) { return begin(board, STEP_REG_STATUS_QUEUED, STEP_REG_CONTROL_QUEUE); }

int step_board_poll(const step_board *board)
{
    uint32_t status = read_register(board, STEP_REG_STATUS);
    int behind = runs_behind(board, status);
    if (behind >= 0)
        return STEP_OK;
    if (status & STEP_REG_STATUS_FAULT)
        return behind == -1 ? STEP_FAULT : STEP_DROPPED;
    return STEP_RUNNING;
}

int step_board_wait(const step_board *board)
{
    int result;
    while ((result = step_board_poll(board)) == STEP_RUNNING)
        STEP_IDLE();
    STEP_AFTER_RUN();
    return result;
}

void step_board_reset(step_board *board) { write_register(board, STEP_REG_CONTROL, STEP_REG_CONTROL_RESET); }

void step_board_interrupts(step_board *board, uint32_t which) { write_register(board, STEP_REG_INTERRUPT_ENABLE, which); }

uint32_t step_board_isr(step_board *board)
{
    uint32_t there = read_register(board, STEP_REG_INTERRUPT);
    write_register(board, STEP_REG_INTERRUPT, there);
    board->events |= there;
    return there;
}

void step_board_watchdog(step_board *board, uint32_t cycles) { write_register(board, STEP_REG_WATCHDOG, cycles); }

size_t step_board_differs(const void *memory, const void *expected, const void *mask, size_t bytes)
{
    const uint8_t *found = memory, *wanted = expected, *counts = mask;
    size_t at = 0;
    while (at < bytes && !((found[at] ^ wanted[at]) & counts[at]))
        at++;
    return at;
}

uint64_t step_board_cycles(const step_board *board)
{
    uint32_t status = read_register(board, STEP_REG_STATUS);
    int behind = runs_behind(board, status);
    if (behind > 0 || (behind == 0 && status & (STEP_REG_STATUS_BUSY | STEP_REG_STATUS_QUEUED)))
        return (uint64_t)read_register(board, STEP_REG_PREVIOUS_HIGH) << 32 | read_register(board, STEP_REG_PREVIOUS_LOW);
    return (uint64_t)read_register(board, STEP_REG_CYCLES_HIGH) << 32 | read_register(board, STEP_REG_CYCLES_LOW);
}

static const char *name_of(const char *const *names, unsigned count, uint32_t number)
{
    return number < count ? names[number] : "";
}

void step_board_fault(const step_board *board, step_fault *fault)
{
    const step_design *design = board->design;
    uint32_t found = read_register(board, STEP_REG_FAULT), memory = read_register(board, STEP_REG_MEMORY_FAULT);
    fault->code = (found & STEP_REG_FAULT_CODE) >> STEP_REG_FAULT_CODE_LOW;
    fault->text = step_fault_text(fault->code);
    fault->where = "";
    fault->address = 0;
    fault->memory_waits = (read_register(board, STEP_REG_STATUS) & STEP_REG_STATUS_MEMORY_WAITS) != 0;
    if (fault->code && fault->code == (memory & STEP_REG_MEMORY_FAULT_CODE) >> STEP_REG_MEMORY_FAULT_CODE_LOW) {
        uint32_t port = (memory & STEP_REG_MEMORY_FAULT_PORT) >> STEP_REG_MEMORY_FAULT_PORT_LOW;
        fault->where = name_of(design->ports, design->port_count, port);
        fault->address = (uint64_t)read_register(board, STEP_REG_MEMORY_FAULT_HIGH) << 32 |
                         read_register(board, STEP_REG_MEMORY_FAULT_LOW);
    } else if (fault->code && fault->code != STEP_FAULT_NO_MOVEMENT) {
        uint32_t unit = (found & STEP_REG_FAULT_UNIT) >> STEP_REG_FAULT_UNIT_LOW;
        fault->where = name_of(design->units, design->unit_count, unit);
    }
}

size_t step_board_waits(step_board *board, step_wait *waits, size_t room)
{
    const step_design *design = board->design;
    uint32_t channels = (read_register(board, STEP_REG_SIZE) & STEP_REG_SIZE_CHANNELS) >> STEP_REG_SIZE_CHANNELS_LOW;
    size_t found = 0;
    for (uint32_t each = 0; each < channels; each++) {
        write_register(board, STEP_REG_WAIT_INDEX, each);
        uint32_t edge = read_register(board, STEP_REG_WAIT_EDGE);
        if (!(edge & (STEP_REG_WAIT_EDGE_STARVED | STEP_REG_WAIT_EDGE_BLOCKED)))
            continue;
        if (found < room) {
            uint32_t unit = (edge & STEP_REG_WAIT_EDGE_UNIT) >> STEP_REG_WAIT_EDGE_UNIT_LOW;
            uint32_t awaited = (edge & STEP_REG_WAIT_EDGE_AWAITED) >> STEP_REG_WAIT_EDGE_AWAITED_LOW;
            waits[found].unit = name_of(design->units, design->unit_count, unit);
            waits[found].awaited = name_of(design->units, design->unit_count, awaited);
            waits[found].starved = (edge & STEP_REG_WAIT_EDGE_STARVED) != 0;
        }
        found++;
    }
    return found;
}

uint32_t step_board_activity(step_board *board, unsigned unit)
{
    write_register(board, STEP_REG_WAIT_INDEX, unit);
    return (read_register(board, STEP_REG_WAIT_UNIT) & STEP_REG_WAIT_UNIT_ACTIVITY) >> STEP_REG_WAIT_UNIT_ACTIVITY_LOW;
}

const char *step_fault_text(uint32_t code)
{
    static const char *const texts[] = STEP_FAULT_TEXTS;
    return code < sizeof texts / sizeof *texts ? texts[code] : "unknown";
}

const char *step_result_text(int result)
{
    switch (result) {
    case STEP_OK: return "ok";
    case STEP_RUNNING: return "the run goes on";
    case STEP_BUSY: return "a start during a run";
    case STEP_SHAPE: return "data of another shape";
    case STEP_ALIGN: return "an address that is no multiple of a beat";
    case STEP_OVERLAP: return "two images at the same place";
    case STEP_SPACE: return "too little room, or beyond the address space";
    case STEP_FAULT: return "the run met a fault";
    case STEP_DESIGN: return "the registers of something else";
    case STEP_PLACE: return "an image has no place";
    case STEP_UNFINISHED: return "the stream has not ended";
    case STEP_DROPPED: return "the run before it failed";
    default: return "unknown";
    }
}
