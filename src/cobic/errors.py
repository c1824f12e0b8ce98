"""The ways in which cobic says no: each error is one line that names the place and the cure."""


class InputError(ValueError):
    """Data or a parameter that cannot be used; the message names the place and what to do."""


class DownloadError(InputError):
    """A public data set that could not be fetched whole and unchanged."""


class UnfinishedError(InputError):
    """A run that the machine cut short, by a full disk or a worker that died; steps that were kept can be used."""


class ModelError(InputError):
    """A model file that does not hold what its schema promises."""


class LargeDataWarning(UserWarning):
    """Data that take more memory than there is; the message says how much of both."""


class InconsistentDataWarning(UserWarning):
    """No selection reads every sample's class back; the message says whether that is proven and what was done."""
