"""Implicit GEMM: the activation index of a convolution, for every N, H, W, C and filter size.

Unpadded, stride 1: output row p and tap r read input row p + r, so p + r < H needs P <= H - R + 1. The index
is affine in its six coordinates, hence extremal at a corner; the whole proof is the sign of a polynomial.
P = H ("same" without padding) or one row too many reads past the image. The general form has stride,
dilation and padding as symbols too: reads stay inside the padded image, and inside the image under the
predicate that CUTLASS's iterators evaluate. Last, tile-ai/tilelang #2426: window origins that step by W
instead of wrapping at Q.
"""

from checkers import Bijective, Equal, InBounds, Injective
from symlayout import Layout, ceil_div, dim, dims, eq
from symlayout.address_map import AddressMap

N, H, W, C, R, S, P, Q = dims("N H W C R S P Q")
NHWC = Layout((N, H, W, C), (H * W * C, W * C, C, 1))


def activation(p_extent, q_extent):
    def offset(n, p, q, r, s, c):
        return NHWC(n, p + r, q + s, c)

    return AddressMap.over(offset, (N, p_extent, q_extent, R, S, C))


FILTER_FITS = (R <= H, S <= W)
tensor = Bijective(NHWC, onto=N * H * W * C)
unpadded = InBounds(activation(H - R + 1, W - S + 1), N * H * W * C)
p_equals_h = InBounds(activation(H, W), N * H * W * C, given=FILTER_FITS, expect="refuted")
one_row_too_many = InBounds(activation(H - R + 2, W - S + 1), N * H * W * C, given=FILTER_FITS, expect="refuted")

# The im2col matrix of a 3x3 filter is a layout with overlapping modes: fine to read, never to write.
WINDOWS = Layout((N, H - 2, W - 2, 3, 3, C), (H * W * C, W * C, C, W * C, C, 1))
windows = InBounds(WINDOWS, N * H * W * C)
windows_of_a_row_overlap = Injective(Layout((W - 2, 3), (1, 1)), given=W >= 4, expect="refuted")

stride, dilation = dims("stride dilation")
pad = dim("pad", at_least=0)
extent = ceil_div(H + 2 * pad - dilation * (R - 1), stride)


def row(p, r):
    return stride * p + dilation * r - pad


def in_the_image(p, r):
    return row(p, r) >= 0, row(p, r) < H


rows_of_the_padded_image = InBounds(AddressMap.over(row, (extent, R)), H + pad, low=-pad)
rows_of_the_image = InBounds(AddressMap.over(row, (extent, R), when=in_the_image), H)
rows_without_predicate = InBounds(AddressMap.over(lambda p, r: p + r - 1, (H, 3)), H, expect="refuted")

# m = (n*P + p)*Q + q, the row of the im2col matrix.
ORIGIN = AddressMap.over(lambda n, p, q: n * P * Q + p * Q + q, (N, P, Q))
STEPPED = AddressMap.over(lambda n, p, q: n * P * Q + p * W + q, (N, P, Q))
origins = Bijective(ORIGIN, onto=N * P * Q)
origins_that_do_not_wrap = Equal(STEPPED, ORIGIN, given=eq(Q, W - S + 1), expect="refuted")
same_padding_hides_it = Equal(STEPPED, ORIGIN, given=eq(Q, W))
