"""What the exit codes of the command line mean."""

EXIT_DONE = 0  # all went well
EXIT_INPUT = 2  # something that was given is wrong, as argparse has it, too
EXIT_INFEASIBLE = 3  # there is no consistent selection
EXIT_DOES_NOT_CHECK = 4  # a certificate or a model does not hold
EXIT_INTERRUPTED = 130  # 128 and the number of SIGINT, as in shells
