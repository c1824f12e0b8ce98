"""As many threads for linear algebra as a matrix is worth."""

from contextlib import AbstractContextManager, nullcontext

from threadpoolctl import threadpool_limits

from cobic.matrix import Matrix

# Below this, the threads of a BLAS spend their time waiting for each other; with other work on the machine they wait
# long. Two threads on 38 × 7129 took 1.0 to 3.7 times as long as one.
_WORTH_THREADS = 1 << 24


def one_thread() -> AbstractContextManager[object]:
    """Limit the BLAS to one thread, for as long as others work beside this process."""
    limits: AbstractContextManager[object] = threadpool_limits(limits=1, user_api="blas")
    return limits


def fitting_threads(matrix: Matrix) -> AbstractContextManager[object]:
    """Limit the BLAS to one thread for as long as a small matrix is worked on."""
    small = matrix.shape[0] * matrix.shape[1] < _WORTH_THREADS
    return one_thread() if small else nullcontext()
