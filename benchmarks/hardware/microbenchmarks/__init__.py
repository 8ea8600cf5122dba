"""Microbenchmarks of one unit of a GPU each, from which ``symlayout calibrate`` fits the numbers of a machine.

    python -m benchmarks.hardware.microbenchmarks [M4 M5 ..] --out FOLDER [--limit 480] [--repeats 21]

The names are those of docs/simulator/calibration.md. Each id is a file of rows; one that is there is not run again, so
a run that was ended by its limit goes on where it stopped. ``--list`` says what there is, without a device.
"""
