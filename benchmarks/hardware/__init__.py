"""What the hardware does where the documents are silent: cases run on a GPU, each stored with its answer.

python benchmarks/hardware/tma_probe.py --out DIR
"""
