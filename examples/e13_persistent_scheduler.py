"""A persistent kernel: CTA b takes work items b, b + G, b + 2G, ... until the tiles are used up.

The predicate makes the number of items no closed form, so coverage is shown by a witness: tile w is visited
by CTA w % G in its iteration w // G. Without the predicate the last wave runs over; with floor division it
stops early. With whole waves the schedule is a layout, and the proof is a mixed radix.
"""

from checkers import Bijective, Covers, InBounds, Injective
from symlayout import Layout, ceil_div, dims
from symlayout.address_map import AddressMap

G, T, tm, tn, waves = dims("G T tm tn waves")

whole_waves = Bijective(Layout((G, waves), (1, G)), onto=G * waves)
whole_waves_on_132_sms = Bijective(Layout((132, T // 132), (1, 132)), onto=T, given=T.multiple_of(132))
floored_waves = Bijective(Layout((132, T // 132), (1, 132)), onto=T, expect="refuted")

UNCHECKED = AddressMap.over(lambda b, i: b + G * i, (G, ceil_div(T, G)))
ITEM = AddressMap.over(lambda b, i: b + G * i, (G, ceil_div(T, G)), when=lambda b, i: b + G * i < T)
items_are_tiles = InBounds(ITEM, T)
no_tile_twice = Injective(ITEM)
every_tile_once = Covers(ITEM, T, by=lambda w: (w % G, w // G))
last_wave_runs_over = InBounds(UNCHECKED, T, expect="refuted")


def tile(b, i):
    """Column-major over the grid of tiles."""
    return (b + G * i) % tm, (b + G * i) // tm


GRID = AddressMap.over(tile, (G, ceil_div(tm * tn, G)), when=lambda b, i: b + G * i < tm * tn)
every_tile_of_the_grid_once = Covers(GRID, (tm, tn), by=lambda m, n: ((m + tm * n) % G, (m + tm * n) // G))
