"""Split-K: KT k-tiles over S splits, with ceil_div(KT, S) each: covered once, and two mistakes that are common.

Split s takes k-tiles s*per .. min((s+1)*per, KT). Its length computed as that end minus s*per is *negative* for
trailing splits (KT = 1, S = 3 is the smallest). As an unsigned trip count that is four billion iterations; the start
has to be clipped as well. Floor division instead of ceil_div drops the remainder.
"""

from checkers import Covers, InBounds, Injective, Surjective
from symlayout import Layout, ceil_div, dims, minimum
from symlayout.address_map import AddressMap

KT, S = dims("KT S")
per = ceil_div(KT, S)

SPLIT = AddressMap.over(lambda s, k: s * per + k, (S, per), when=lambda s, k: s * per + k < KT)
inside = InBounds(SPLIT, KT)
disjoint = Injective(SPLIT)
every_k_tile_once = Covers(SPLIT, KT, by=lambda k: (k // per, k % per))
enough_without_the_predicate = Surjective(Layout((per, S), (1, per)), onto=KT)
too_much_without_the_predicate = InBounds(Layout((per, S), (1, per)), KT, expect="refuted")
floor_division_drops_the_rest = Surjective(Layout((KT // S, S), (1, KT // S)), onto=KT, expect="refuted")

trip_count = InBounds(AddressMap.over(lambda s: minimum((s + 1) * per, KT) - minimum(s * per, KT), S), per + 1)
trip_count_without_clipped_start = InBounds(
    AddressMap.over(lambda s: minimum((s + 1) * per, KT) - s * per, S), per + 1, expect="refuted"
)
