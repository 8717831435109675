/* Runs all batches on the board, one after the other, and compares what comes out with what has to. */
#include <generated/csr.h>
#include <generated/mem.h>
#include <generated/sdram_phy.h>
#include <generated/soc.h>
#include <irq.h>
#include <string.h>

#include "batch.h"
#include "step_registers.h"

/* Characters that end the simulation. */
#define RIGHT 4
#define WRONG 24

/* Cycles without movement that are too many: memory answers within a hundred. */
#define WATCHDOG 100000

/* What memory has before a run where a result comes. */
#define NOTHING 0xa5

static step_board board;

static void put(char character)
{
    while (uart_txfull_read())
        ;
    uart_rxtx_write(character);
}

static void say(const char *text)
{
    while (*text)
        put(*text++);
}

static void say_number(uint32_t number)
{
    char digits[11], *at = digits + sizeof digits;
    *--at = 0;
    do
        *--at = (char)('0' + number % 10);
    while (number /= 10);
    say(at);
}

static void end(int right)
{
    put(right ? RIGHT : WRONG);
    for (;;)
        ;
}

/* End with what went wrong, unless nothing did. */
static void check(int result, const char *what, const char *name)
{
    if (result == STEP_OK)
        return;
    say(what);
    say(name);
    say(": ");
    say(step_result_text(result));
    if (result == STEP_FAULT) {
        step_fault fault;
        step_board_fault(&board, &fault);
        say(": ");
        say(fault.text);
        say(" ");
        say(fault.where);
    }
    put('\n');
    end(0);
}

void isr(void)
{
    if (irq_pending() & irq_getmask() & 1u << BOARD_INTERRUPT)
        step_board_isr(&board);
}

static void *region(unsigned image)
{
    return image == STEP_NONE ? NULL : regions[image].data;
}

static void write_batch(const batch *it)
{
    for (unsigned each = 0; each < it->stored_count; each++) {
        const step_tensor *tensor = &design->tensors[it->stored[each].number];
        if (tensor->outer == STEP_DYNAMIC) /* others have what is written below */
            memset(region(tensor->tilings[0].image), NOTHING, it->stored[each].bytes);
    }
    for (unsigned each = 0; each < it->sink_count; each++) {
        unsigned image = design->streams[it->sinks[each].number].values;
        if (region(image))
            memset(region(image), NOTHING, it->sinks[each].bytes);
    }
    for (unsigned each = 0; each < it->tensor_count; each++) {
        const batch_array *array = &it->tensors[each];
        int result = step_write_tensor(&board, array->number, array->values, array->bytes);
        check(result, "writing ", design->tensors[array->number].name);
    }
    for (unsigned each = 0; each < it->source_count; each++) {
        const batch_array *array = &it->sources[each];
        int result = step_write_stream(
            &board, array->number, array->values, array->bytes, array->lengths, array->count);
        check(result, "writing ", design->streams[array->number].name);
    }
}

/* Start, and wait for the interrupt. */
static void run(void)
{
    check(step_board_start(&board), "start", "");
    while (!board.events)
        ;
    check(step_board_wait(&board), "the run", "");
}

/* Say which result is another one; returns whether it is. */
static int differs(const char *name, const void *found, const batch_array *wanted, int same_sizes)
{
    if (same_sizes && memcmp(found, wanted->values, wanted->bytes) == 0)
        return 0;
    say(", ");
    say(name);
    say(" wrong");
    return 1;
}

/* Say the numbers of a stream as a text, where it has symbols. */
static void say_text(const batch_array *array, const uint32_t *numbers)
{
    for (const batch_text *text = texts; text->symbols; text++) {
        if (text->number != array->number)
            continue;
        say(", ");
        say(design->streams[array->number].name);
        say(" \"");
        for (size_t at = 0; at < array->bytes / 4 && numbers[at] && numbers[at] < text->count; at++)
            say(text->symbols[numbers[at]]);
        say("\"");
    }
}

/* How many results are wrong. */
static int wrong_results(const batch *it)
{
    uint8_t *found = (uint8_t *)results;
    int wrong = 0;
    for (unsigned each = 0; each < it->stored_count; each++) {
        const batch_array *array = &it->stored[each];
        const char *name = design->tensors[array->number].name;
        check(step_read_tensor(&board, array->number, found, array->bytes), "reading ", name);
        wrong += differs(name, found, array, 1);
    }
    for (unsigned each = 0; each < it->sink_count; each++) {
        const batch_array *array = &it->sinks[each];
        const char *name = design->streams[array->number].name;
        size_t bytes = array->bytes, count = array->count;
        uint32_t *lengths = (uint32_t *)(found + (array->bytes + 3) / 4 * 4);
        check(step_read_stream(&board, array->number, found, &bytes, lengths, &count), "reading ", name);
        int same = bytes == array->bytes && count == array->count && memcmp(lengths, array->lengths, 4 * count) == 0;
        say_text(array, results);
        wrong += differs(name, found, array, same);
    }
    return wrong;
}

int main(void)
{
    int wrong = 0;
    init_sequence();
    sdram_dfii_control_write(DFII_CONTROL_SEL);
    check(step_board_open(&board, design, BOARD_BASE, regions), "the board", "");
    check(step_board_place_all(&board, MAIN_RAM_BASE, (void *)MAIN_RAM_BASE, image_bytes), "memory", "");
    step_board_watchdog(&board, WATCHDOG);
    step_board_interrupts(&board, STEP_REG_INTERRUPT_DONE | STEP_REG_INTERRUPT_FAULT | STEP_REG_INTERRUPT_WATCHDOG);
    irq_setmask(1u << BOARD_INTERRUPT);
    irq_setie(1);
    say(design->name);
    say(": the board answers\n");
    for (unsigned each = 0; each < batch_count; each++) {
        say("batch ");
        say_number(each + 1);
        say(": ");
        write_batch(&batches[each]);
        say("written, ");
        run();
        say("done in ");
        say_number((uint32_t)step_board_cycles(&board));
        say(" cycles");
        int found = wrong_results(&batches[each]);
        say(found ? "\n" : ", right\n");
        wrong += found;
    }
    end(wrong == 0);
}
