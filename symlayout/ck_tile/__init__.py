"""AMD Composable Kernel's tile words: descriptors over coordinate transforms, views, and how coordinates move.

    >>> from symlayout import dims
    >>> M, K = dims("M K")
    >>> a = make_naive_tensor_descriptor((M, K), (K, 1))
    >>> print(a, "of", a.element_space_size, "elements")
    (x0,x1) -> K*x0 + x1 for x0 < M, x1 < K of K*M elements

A descriptor is an ``AddressMap``, so every claim of ``checkers`` about one is a claim about a descriptor. Functions
have CK's names and the order of its arguments; lengths may be numbers or symbols.
"""

from __future__ import annotations

from .adaptor import Graph, TensorAdaptor
from .adaptors import (
    chain_tensor_adaptors,
    make_single_stage_tensor_adaptor,
    make_tensor_descriptor_from_adaptor,
    transform_tensor_adaptor,
)
from .advice import advise
from .buffer_view import AddressSpace, BufferView, MemoryOperation, make_buffer_view
from .coordinates import (
    TensorCoordinate,
    coordinate_has_valid_offset,
    coordinate_has_valid_offset_assuming_top_index_is_valid,
    make_tensor_adaptor_coordinate,
    make_tensor_coordinate,
    move_tensor_adaptor_coordinate,
    move_tensor_coordinate,
)
from .descriptor import TensorDescriptor, transform_tensor_descriptor
from .explain import Explanation
from .kernel_view import KernelView, kernel_view
from .kernels import copy_views
from .layouts import descriptor_of, layout_of
from .make_transforms import (
    make_embed_transform,
    make_freeze_transform,
    make_indexing_transform,
    make_insert_transform,
    make_left_pad_transform,
    make_merge_transform,
    make_merge_transform_v2_magic_division,
    make_merge_transform_v3_division_mod,
    make_modulo_transform,
    make_offset_transform,
    make_pad_transform,
    make_pass_through_transform,
    make_replicate_transform,
    make_right_pad_transform,
    make_slice_transform,
    make_unmerge_transform,
    make_xor_transform,
)
from .naive import (
    make_naive_tensor_descriptor,
    make_naive_tensor_descriptor_aligned,
    make_naive_tensor_descriptor_packed,
    make_naive_tensor_descriptor_packed_with_offset,
    make_naive_tensor_descriptor_with_offset,
)
from .tensor_view import (
    TensorView,
    make_naive_tensor_view,
    make_naive_tensor_view_packed,
    make_tensor_descriptor,
    make_tensor_view,
    transform_tensor_view,
)
from .tiles.async_loads import async_places, unmasked
from .tiles.distributed_tensor import (
    StaticDistributedTensor,
    get_distributed_spans,
    make_static_distributed_tensor,
    sweep_tile,
)
from .tiles.distribution import TileDistribution, make_static_tile_distribution
from .tiles.encoding import TileDistributionEncoding, tile_distribution_encoding
from .tiles.kernel_window import KernelTile, KernelWindow
from .tiles.linear_window import TileWindowLinear
from .tiles.making_encodings import make_embed_tile_distribution_encoding, make_reduce_tile_distribution_encoding
from .tiles.slicing import SlicedDistribution, get_slice_tile, set_slice_tile, slice_distribution_from_x
from .tiles.space_filling_curve import SpaceFillingCurve
from .tiles.thread_values import distribution_of, thread_value_layout
from .tiles.tile_window import TileWindow
from .tiles.window_functions import (
    load_tile,
    make_tile_window,
    make_tile_window_linear,
    move_tile_window,
    store_tile,
    update_tile,
)
from .view_idioms import (
    memory_of,
    pad_tensor_view,
    slice_tensor_view,
    transpose_tensor_descriptor,
    transpose_tensor_view,
)
from .view_remarks import remarks

__all__ = [
    "AddressSpace",
    "BufferView",
    "Explanation",
    "Graph",
    "KernelTile",
    "KernelView",
    "KernelWindow",
    "MemoryOperation",
    "SlicedDistribution",
    "SpaceFillingCurve",
    "StaticDistributedTensor",
    "TensorAdaptor",
    "TensorCoordinate",
    "TensorDescriptor",
    "TensorView",
    "TileDistribution",
    "TileDistributionEncoding",
    "TileWindow",
    "TileWindowLinear",
    "advise",
    "async_places",
    "chain_tensor_adaptors",
    "coordinate_has_valid_offset",
    "coordinate_has_valid_offset_assuming_top_index_is_valid",
    "copy_views",
    "descriptor_of",
    "distribution_of",
    "get_distributed_spans",
    "get_slice_tile",
    "kernel_view",
    "layout_of",
    "load_tile",
    "make_buffer_view",
    "make_embed_tile_distribution_encoding",
    "make_embed_transform",
    "make_freeze_transform",
    "make_indexing_transform",
    "make_insert_transform",
    "make_left_pad_transform",
    "make_merge_transform",
    "make_merge_transform_v2_magic_division",
    "make_merge_transform_v3_division_mod",
    "make_modulo_transform",
    "make_naive_tensor_descriptor",
    "make_naive_tensor_descriptor_aligned",
    "make_naive_tensor_descriptor_packed",
    "make_naive_tensor_descriptor_packed_with_offset",
    "make_naive_tensor_descriptor_with_offset",
    "make_naive_tensor_view",
    "make_naive_tensor_view_packed",
    "make_offset_transform",
    "make_pad_transform",
    "make_pass_through_transform",
    "make_reduce_tile_distribution_encoding",
    "make_replicate_transform",
    "make_right_pad_transform",
    "make_single_stage_tensor_adaptor",
    "make_slice_transform",
    "make_static_distributed_tensor",
    "make_static_tile_distribution",
    "make_tensor_adaptor_coordinate",
    "make_tensor_coordinate",
    "make_tensor_descriptor",
    "make_tensor_descriptor_from_adaptor",
    "make_tensor_view",
    "make_tile_window",
    "make_tile_window_linear",
    "make_unmerge_transform",
    "make_xor_transform",
    "memory_of",
    "move_tensor_adaptor_coordinate",
    "move_tensor_coordinate",
    "move_tile_window",
    "pad_tensor_view",
    "remarks",
    "set_slice_tile",
    "slice_distribution_from_x",
    "slice_tensor_view",
    "store_tile",
    "sweep_tile",
    "thread_value_layout",
    "tile_distribution_encoding",
    "transform_tensor_adaptor",
    "transform_tensor_descriptor",
    "transform_tensor_view",
    "transpose_tensor_descriptor",
    "transpose_tensor_view",
    "unmasked",
    "update_tile",
]
