"""Which expressions of a kernel are cursors, where they begin, and which are not."""

import pytest

from symlayout import dim, dims, index
from symlayout.kernel import Builder
from symlayout.kernel.cursors import cursors
from symlayout.kernels import cp_async_copy, gemm, tma_copy
from symlayout.ops import For, If, Let, Slot, Wait

A, B, C = dims("A B C", at_most=1 << 24)


def ring(use, slots=3, trips=A, outer=None, unroll=None):
    """A wait for each use of a ring, in one loop or two."""
    k = Builder("ring", A, B, C, grid=(4,), threads=64)
    full = k.mbarriers("full", slots, 1)

    def loop(wave):
        with k.loop("i", trips, unroll) as i:
            n = use(wave, i)
            k.wait(full(n % slots), n // slots % 2)

    if outer is None:
        loop(k.block[0])
    else:
        with k.loop("wave", outer) as wave:
            loop(wave)
    return k.kernel()


def told(kernel):
    """The cursors, and how many loops around they are carried through."""
    return [(str(c), len(c.loop) - len(c.begins)) for c in cursors(kernel)]


def test_a_loop_counts_what_it_takes_one_by_one():
    assert told(ring(lambda block, i: i)) == [("i of 3 slots and their rounds, from 0, then A", 0)]
    assert told(ring(lambda block, i: B * block + i + 2)) == [
        ("B*block_x + i + 2 of 3 slots and their rounds, from B*block_x + 2, then B*block_x + A + 2", 0)
    ]


def test_a_loop_around_carries_what_goes_on():
    assert told(ring(lambda wave, i: A * wave + i, outer=B)) == [
        ("A*wave + i of 3 slots and their rounds, from 0, then A*wave + A", 1)
    ]
    assert [carried for _, carried in told(ring(lambda wave, i: A * wave + i, outer=B, trips=A + 3))] == [0]
    assert [carried for _, carried in told(ring(lambda wave, i: A * wave + i, outer=B, trips=A + 6))] == [1]
    assert [carried for _, carried in told(ring(lambda wave, i: (A - B) * wave + i, outer=C, trips=A - B))] == [0]


@pytest.mark.parametrize("slots", [3, 5, 7])
def test_numbers_that_are_folded_into_the_rounds_are_counted(slots):
    """64 steps, three slots: the value has (wave + i) % 3, and the parity of 21*wave + (wave + i)//3."""
    [(_, carried)] = told(ring(lambda wave, i: 64 * wave + i, slots, trips=64, outer=B))

    assert carried == 1


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"slots": 4}, id="a mask does"),
        pytest.param({"slots": 1}, id="one slot"),
        pytest.param({"use": lambda block, i: 2 * i}, id="steps of two"),
        pytest.param({"use": lambda block, i: i // 2}, id="steps of a half"),
        pytest.param({"use": lambda block, i: block}, id="no steps"),
        pytest.param({"use": lambda block, i: A * A * B + i}, id="more than 64 bits hold"),
        pytest.param({"trips": 3}, id="the first round alone"),
        pytest.param({"trips": 8, "unroll": "full"}, id="unrolled"),
    ],
)
def test_what_is_no_cursor(options):
    assert cursors(ring(**{"use": lambda block, i: i, **options})) == ()


def test_a_slot_whose_round_is_used_as_it_is_is_divided_for():
    k = Builder("rounds", A, grid=(1,), threads=32)
    full = k.mbarriers("full", 3, 1)
    with k.loop("i", A) as i:
        k.wait(full(i % 3), i // 3 % 2)
        k.expect_tx(full(i % 3), 16 * (i // 3))

    assert cursors(k.kernel()) == ()


def test_both_parities_are_of_one_cursor():
    k = Builder("both", A, grid=(1,), threads=32)
    full, empty = k.mbarriers("full", 3, 1), k.mbarriers("empty", 3, 1)
    with k.loop("i", A) as i:
        k.wait(empty(i % 3), (i // 3 + 1) % 2)
        k.wait(full(i % 3), i // 3 % 2)
        k.wait(full((i + 3) % 3), (i + 3) // 3 % 2)

    assert len(cursors(k.kernel())) == 1


def test_names_of_let_are_seen_through():
    """A name for the use, one for where it starts, one for its slot."""
    k = Builder("named", A, B, grid=(4,), threads=32)
    full = k.mbarriers("full", 3, 1)
    with k.loop("wave", B) as wave:
        first = k.let("first", A * wave)
        with k.loop("i", A) as i:
            use = k.let("use", first + i)
            slot = k.let("slot", use % 3)
            k.wait(full(slot), use // 3 % 2)
    [found] = cursors(k.kernel())

    assert found.forms == (A * wave + i, use)
    assert (len(found.begins), found.start) == (1, 0)
    assert cursors(k.kernel().plain)[0].forms == found.forms[:1]


def test_a_name_of_two_values_is_not_seen_through():
    i, n = index("i", A), dim("n", at_least=0)

    def part(value):
        return If((i >= 1,), (Let(n, value), Wait(Slot("full", n % 3), 0)))

    loop = For(i, (Wait(Slot("full", i % 3), 0), part(i), part(i + 1)))
    built = ring(lambda block, i: i)

    assert cursors(built.edited(lambda op: [loop] if isinstance(op, For) else [op])) == ()
    assert len(cursors(built.edited(lambda op: [For(i, loop.inside[:2])] if isinstance(op, For) else [op]))) == 1


@pytest.mark.parametrize("apart, found", [(0, 1), (3, 0), (6, 1)])
def test_parities_by_rounds_of_two_kinds_are_divided_for(apart, found):
    k = Builder("two", A, grid=(4,), threads=32)
    full = k.mbarriers("full", 3, 1)
    with k.loop("i", A) as i:
        k.wait(full(i % 3), i // 3 % 2)
        k.wait(full(i % 3), (i + apart * k.block[0]) // 3 % 2)

    assert len(cursors(k.kernel())) == found


def test_names_that_have_other_values_inside_are_not_those_outside():
    """Loops inside one another whose indices have one name; a role in a loop, in which ``thread`` is another."""
    i, wave = index("i", A), index("wave", A)

    def waits(n):
        return (Wait(Slot("full", n % 3), n // 3 % 2),)

    twice = For(i, (For(i, waits(i)),))
    outside = For(wave, (For(i, waits(A * wave + i)), For(wave, waits(B + wave))))
    built = ring(lambda block, i: i)
    found = [cursors(built.edited(lambda op, to=to: [to] if isinstance(op, For) else [op])) for to in (twice, outside)]
    k = Builder("roles", A, grid=(1,), threads=64)
    full = k.mbarriers("full", 3, 1)
    with k.loop("i", A) as i, k.role("one", 1):
        k.wait(full((k.thread + i) % 3), 0)

    assert [[(str(c.start), len(c.loop) - len(c.begins)) for c in cs] for cs in found] == [
        [("0", 0)],
        [("A*wave", 0), ("B", 0)],
    ]
    assert cursors(k.kernel()) == ()


def test_families_divide_by_no_slots():
    M, N, K = dims("M N K")
    kernels = gemm(M, N, K, stages=5), tma_copy(M, N, slots=7, blocks=132), cp_async_copy(N, stages=6, blocks=8)

    assert [len(cursors(k)) for k in kernels] == [3, 2, 2]
    assert all(type(c.start) is int for k in kernels for c in cursors(k))
