/* For Python: registers and memory are reached by functions of Python. */
#ifndef STEP_REACHED_H
#define STEP_REACHED_H

#include <stddef.h>
#include <stdint.h>

extern uint32_t (*host_read32)(uintptr_t address);
extern void (*host_write32)(uintptr_t address, uint32_t value);
extern void (*host_written)(uint64_t address, void *data, size_t bytes);
extern void (*host_to_read)(uint64_t address, void *data, size_t bytes);

#define STEP_READ32(address) host_read32(address)
#define STEP_WRITE32(address, value) host_write32(address, value)
#define STEP_WRITTEN(address, data, bytes) host_written(address, data, bytes)
#define STEP_TO_READ(address, data, bytes) host_to_read(address, data, bytes)

#endif
