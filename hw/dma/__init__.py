"""Stream DMA: sources fed from memory, sinks written to memory."""
