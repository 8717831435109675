/* For Python: registers and memory are reached by functions of Python. */
#ifndef STEP_REACHED_H
#define STEP_REACHED_H

#include <stdint.h>

extern uint32_t (*host_read32)(uintptr_t address);
extern void (*host_write32)(uintptr_t address, uint32_t value);
extern void (*host_before_run)(void);

#define STEP_READ32(address) host_read32(address)
#define STEP_WRITE32(address, value) host_write32(address, value)
#define STEP_BEFORE_RUN() host_before_run()

#endif
