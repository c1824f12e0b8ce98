"""What every method searches with: time and interrupts, selections that are mended, linear programs, many processes."""
