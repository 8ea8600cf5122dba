"""CK's functions of windows, for memory at hand and for kernels: a window of a ``KernelView`` loads by copies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar, overload

from ...errors import LayoutError
from ..kernel_view import KernelView
from ..tensor_view import TensorView
from .distributed_tensor import StaticDistributedTensor
from .distribution import TileDistribution
from .kernel_window import KernelTile, KernelWindow
from .linear_window import TileWindowLinear, default_linear_dims
from .tile_window import TileWindow

if TYPE_CHECKING:
    Window = TypeVar("Window", TileWindow, TileWindowLinear, KernelWindow)


@overload
def make_tile_window(
    tensor_view: TensorView,
    window_lengths: Sequence[Any],
    origin: Sequence[Any],
    tile_distribution: TileDistribution | None = None,
    *,
    version: str = "V24",
) -> TileWindow: ...
@overload
def make_tile_window(
    tensor_view: KernelView,
    window_lengths: Sequence[Any],
    origin: Sequence[Any],
    tile_distribution: TileDistribution,
    *,
    version: str = "V24",
) -> KernelWindow: ...
def make_tile_window(
    tensor_view: TensorView | KernelView,
    window_lengths: Sequence[Any],
    origin: Sequence[Any],
    tile_distribution: TileDistribution | None = None,
    *,
    version: str = "V24",
) -> TileWindow | KernelWindow:
    """A window of a view, or of a view in a kernel (``kernel_view``), where loads and stores become copies.

    Raises LayoutError for lengths that are not those of the distribution, which upstream lets pass.
    """
    if isinstance(tensor_view, KernelView):
        if tile_distribution is None:
            raise LayoutError(f"expected a window of {tensor_view.name} with a tile distribution to copy it by")
        window = TileWindow(tensor_view.view, tuple(window_lengths), tuple(origin), tile_distribution, version)
        return tensor_view.windowed(window)
    if not isinstance(tensor_view, TensorView):
        raise LayoutError(f"expected a tensor view to make a window on, got {tensor_view!r}")
    return TileWindow(tensor_view, tuple(window_lengths), tuple(origin), tile_distribution, version)


@overload
def make_tile_window_linear(
    tensor_view: TensorView,
    window_lengths: Sequence[Any],
    origin: Sequence[Any],
    tile_distribution: TileDistribution,
    linear_bottom_dims: Sequence[Any] | None = None,
    *,
    version: str = "V24",
) -> TileWindowLinear: ...
@overload
def make_tile_window_linear(
    tensor_view: KernelView,
    window_lengths: Sequence[Any],
    origin: Sequence[Any],
    tile_distribution: TileDistribution,
    linear_bottom_dims: Sequence[Any] | None = None,
    *,
    version: str = "V24",
) -> KernelWindow: ...
def make_tile_window_linear(
    tensor_view: TensorView | KernelView,
    window_lengths: Sequence[Any],
    origin: Sequence[Any],
    tile_distribution: TileDistribution,
    linear_bottom_dims: Sequence[Any] | None = None,
    *,
    version: str = "V24",
) -> TileWindowLinear | KernelWindow:
    """A linear window; by default the last dimension of global memory is linear, and all of LDS, as upstream has it."""
    view = tensor_view.view if isinstance(tensor_view, KernelView) else tensor_view
    dims = default_linear_dims(view) if linear_bottom_dims is None else tuple(map(bool, linear_bottom_dims))
    window = TileWindowLinear(view, tuple(window_lengths), tuple(origin), tile_distribution, version, dims)
    return tensor_view.windowed(window) if isinstance(tensor_view, KernelView) else window


def move_tile_window(window: Window, step: Sequence[Any]) -> Window:
    """The window *step* further on. Upstream moves it in place."""
    return window.move(step)


@overload
def load_tile(window: TileWindow) -> StaticDistributedTensor: ...
@overload
def load_tile(window: KernelWindow) -> KernelTile: ...
def load_tile(window: TileWindow | KernelWindow) -> StaticDistributedTensor | KernelTile:
    """CK's name of ``window.load()``."""
    return window.load()


@overload
def store_tile(window: TileWindow, tensor: StaticDistributedTensor) -> None: ...
@overload
def store_tile(window: KernelWindow, tensor: KernelTile) -> None: ...
def store_tile(window: Any, tensor: Any) -> None:
    """CK's name of ``window.store(tensor)``."""
    window.store(tensor)


@overload
def update_tile(window: TileWindow, tensor: StaticDistributedTensor) -> None: ...
@overload
def update_tile(window: KernelWindow, tensor: KernelTile) -> None: ...
def update_tile(window: Any, tensor: Any) -> None:
    """CK's name of ``window.update(tensor)``."""
    window.update(tensor)


__all__ = ["load_tile", "make_tile_window", "make_tile_window_linear", "move_tile_window", "store_tile", "update_tile"]
