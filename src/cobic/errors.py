"""The ways in which cobic says no: each error is one line that names the place and the cure."""


class InputError(ValueError):
    """Data or a parameter that cannot be used; the message names the place and what to do.

    Examples
    --------
    >>> import cobic
    >>> cobic.Problem([[3.0, 1.0], [1.0, 4.0]], ["a", "b"], alpha=-1)
    Traceback (most recent call last):
        ...
    cobic.errors.InputError: alpha is -1: it must be a finite number of at least 0
    """


class DownloadError(InputError):
    """A public data set that could not be fetched whole and unchanged.

    Examples
    --------
    >>> import cobic
    >>> issubclass(cobic.DownloadError, cobic.InputError)  # so that one `except` is enough
    True
    """


class UnfinishedError(InputError):
    """A run that the machine cut short, by a full disk or a worker that died; steps that were kept can be used.

    Examples
    --------
    >>> import cobic
    >>> issubclass(cobic.UnfinishedError, cobic.InputError)  # so that one `except` is enough
    True
    """


class ModelError(InputError):
    """A model file that does not hold what its schema promises.

    Examples
    --------
    >>> import cobic
    >>> issubclass(cobic.ModelError, cobic.InputError)  # so that one `except` is enough
    True
    """


class LargeDataWarning(UserWarning):
    """Data that take more memory than there is; the message says how much of both.

    Examples
    --------
    >>> import warnings
    >>> import cobic
    >>> problem = cobic.datasets.make_expression(n_features=200, seed=1).problem()
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", cobic.LargeDataWarning)  # stop before the memory is full
    ...     cobic.solve(problem).consistent
    True
    """


class InconsistentDataWarning(UserWarning):
    """No selection reads every sample's class back; the message says whether that is proven and what was done.

    Examples
    --------
    >>> import warnings
    >>> import cobic
    >>> X, y = [[1, 2], [1, 2], [3, 1]], ["a", "b", "b"]  # two samples are alike, and of different classes
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     model = cobic.ConsistentBiclustering().fit(X, y)
    >>> told[0].category.__name__
    'InconsistentDataWarning'
    """
