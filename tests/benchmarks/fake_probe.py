"""Stands in for the compiled probe: answers the protocol, faults, dies and falls silent by the case's id."""

import os
import signal
import struct
import sys
import time

ID, FORM, DUMP, CLUSTER, FIELDS = map(int, sys.argv[1:6])


def say(number, stage=3, error=0, payload=b""):
    head = [0x414D54, number, 0, error, stage, 0, 0, len(payload), 0, 5]
    sys.stdout.buffer.write(struct.pack("<10q64Q", *head, *([1, 2, 3, 4, 0, 9, 0, 2048] * 8)) + payload)
    sys.stdout.buffer.flush()


say(-1, payload=b"Fake\n9.0\n13000\n13000\n232448\n0\n40\n1024")
for text in sys.stdin:
    case = [int(word) for word in text.split()]
    number, form = case[ID], case[FORM]
    assert len(case) == FIELDS
    if number % 97 == 5:
        say(number, error=715)
        os._exit(3)
    if number % 101 == 7:
        os.kill(os.getpid(), signal.SIGSEGV)
    if number % 499 == 11:
        time.sleep(60)
    if form in (0,):
        say(number, stage=1)
    elif form in (4, 5, 7) or form >= 16:
        say(number)
    else:
        say(number, payload=b"\xee" * case[DUMP] * case[CLUSTER])
