/* The arrays of all batches. */
    .section .rodata
    .balign 8
    .global batch_data
batch_data:
    .incbin "batches.bin"
