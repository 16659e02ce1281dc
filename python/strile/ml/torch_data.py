"""Datasets for PyTorch: batches of windows as tensors.

`BatchDataset` is iterable and gives whole batches; it is what to use. On a GPU it reads ahead in this process, and
tensors stay where they were decoded: workers of a DataLoader would only add copies. On the CPU it may be given to
`DataLoader(dataset, batch_size=None, num_workers=N)`, which shares its batches out. `WindowDataset` has single windows,
for samplers of PyTorch's own; a DataLoader asks it for all windows of a batch at once.

Workers may be started by fork, spawn or forkserver. A device in a worker is refused here, before anything can hang."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..batch import prefetch, read_batch
from ..errors import DeviceError, StrileError
from .samplers import with_place_of

try:
    import torch
    from torch.utils.data import Dataset, IterableDataset, get_worker_info
except ImportError as error:
    raise ImportError("the datasets of strile.ml need PyTorch, which cannot be imported: `pip install torch`") from error


class _Reader:
    """The base of both datasets: files, and the options of reads."""

    def __init__(self, files: Sequence[Any], windows: Any, options: dict[str, Any], pin_memory: bool) -> None:
        for name in ("out", "windows", "bounds", "points", "stream"):
            if name in options:
                raise StrileError(f"{name} is set by the dataset: leave it out")
        self.files = list(files)
        self.options = with_place_of(windows, options)
        self.device = str(self.options.pop("device", "cpu"))
        if self.device != "cpu" and not self.on_device:
            raise StrileError(f"device is {self.device!r}: expected 'cpu', 'cuda' or 'cuda:N', where tensors live")
        # Batches in host memory may be read by workers, which must not open a GPU.
        self.options.setdefault("decode_on", "auto" if self.on_device else "cpu")
        self.pin_memory = pin_memory
        if pin_memory and self.on_device:
            raise StrileError("pinned memory is host memory: use it with device='cpu'")

    @property
    def on_device(self) -> bool:
        return self.device.startswith("cuda")

    def read(self, windows: np.ndarray) -> Any:
        if (self.on_device or self.options["decode_on"] != "cpu") and get_worker_info() is not None:
            raise DeviceError("a GPU is not used in workers of a DataLoader: num_workers=0, batches are read ahead anyway")
        if not self._pins():
            raster = read_batch(self.files, windows, device=self.device, **self.options)
            return torch.from_dlpack(raster) if self.on_device else torch.from_numpy(raster.numpy())
        return self._pinned(windows)

    def _pins(self) -> bool:
        """Returns whether batches are pinned. Called at the first read: a process that uses a GPU must not be forked afterwards."""
        if not self.pin_memory:
            return False
        if get_worker_info() is not None:
            raise StrileError("workers do not pin memory: give pin_memory=True to the DataLoader, not to the dataset")
        if torch.cuda.is_available():
            return True
        warnings.warn("there is no GPU for which memory could be pinned: batches are in ordinary memory", stacklevel=2)
        self.pin_memory = False
        return False

    def _pinned(self, windows: np.ndarray) -> Any:
        """Decodes into pinned memory, once the shape and type of windows are known."""
        known = getattr(self, "_known", None)
        if known is None:
            tensor = torch.from_numpy(read_batch(self.files, windows, device="cpu", **self.options).numpy())
            self._known = (tuple(tensor.shape[1:]), tensor.dtype)
            return tensor.pin_memory()
        shape, dtype = known
        tensor = torch.empty((len(windows), *shape), dtype=dtype, pin_memory=True)
        read_batch(self.files, windows, device="cpu", out=tensor.numpy(), **self.options)
        return tensor


class BatchDataset(IterableDataset):
    """Batches (window, band, row, column) of the windows of a sampler, one epoch an iteration.

    `windows` is a sampler of `strile.ml`, or rows as `read_batch` takes them; other keywords are those of `read_batch`.
    `depth` batches are read ahead. `shuffle` is the seed of another order each epoch. With `with_windows` each batch comes
    with its rows. Epochs count up by themselves, but where workers of a DataLoader that are started for each epoch iterate:
    then `set_epoch` says which one it is."""

    def __init__(
        self,
        files: Sequence[Any],
        windows: Any,
        batch_size: int,
        *,
        depth: int = 2,
        shuffle: int | bool | None = None,
        drop_last: bool = False,
        pin_memory: bool = False,
        with_windows: bool = False,
        **options: Any,
    ) -> None:
        super().__init__()
        if batch_size < 1:
            raise StrileError(f"batches of {batch_size} windows: expected 1 or more")
        self._reader = _Reader(files, windows, options, pin_memory)
        self._windows, self.batch_size, self.depth = windows, int(batch_size), int(depth)
        # A seed, or PyTorch's word.
        shuffle = (0 if shuffle else None) if isinstance(shuffle, bool) else shuffle
        self.shuffle, self.drop_last, self.with_windows = shuffle, drop_last, with_windows
        self.epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch of the next iteration. Without it epochs count up."""
        self.epoch = int(epoch)

    def _rows(self) -> np.ndarray:
        given = self._windows
        rows = np.asarray(given.windows(self.epoch) if hasattr(given, "windows") else given)
        if self.shuffle is not None:
            rows = rows[np.random.default_rng((self.shuffle, self.epoch)).permutation(len(rows))]
        return rows

    def __len__(self) -> int:
        count = len(self._windows)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)

    def __iter__(self) -> Iterator[Any]:
        rows = self._rows()
        self.epoch += 1
        batches = [rows[at : at + self.batch_size] for at in range(0, len(rows), self.batch_size)][: len(self)]
        worker = get_worker_info()
        if worker is not None:
            batches = batches[worker.id :: worker.num_workers]
        # One batch alone does not fill a GPU; the CPU's threads are shared by all who read.
        readers = 2 if self._reader.on_device else 1
        results = prefetch(lambda part: (self._reader.read(part), part), batches, depth=self.depth, readers=readers)
        for tensor, part in results:
            yield (tensor, torch.from_numpy(np.array(part))) if self.with_windows else tensor


class _Batch(list):
    """Windows of one batch, which are parts of one tensor."""

    def __init__(self, tensor: Any) -> None:
        super().__init__(tensor)
        self.tensor = tensor


class WindowDataset(Dataset):
    """Windows (band, row, column), by index: of a sampler those of its first epoch. `DataLoader(dataset, batch_size=N, collate_fn=strile.ml.collate)` reads all
    windows of a batch by one job and copies none."""

    def __init__(self, files: Sequence[Any], windows: Any, *, pin_memory: bool = False, **options: Any) -> None:
        self._reader = _Reader(files, windows, options, pin_memory)
        self._rows = np.asarray(windows.windows() if hasattr(windows, "windows") else windows)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> Any:
        return self._reader.read(self._rows[[index]])[0]

    def __getitems__(self, indices: list[int]) -> _Batch:
        return _Batch(self._reader.read(self._rows[list(indices)]))


def collate(batch: Any) -> Any:
    """Returns the tensor that holds windows of a `WindowDataset`; other lists are stacked."""
    return batch.tensor if isinstance(batch, _Batch) else torch.stack(list(batch))
