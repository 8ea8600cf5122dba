"""What really happens: a kernel printed as CUDA and run on a device, its bytes and cycles compared with ours.

Empty so far. Importing this package imports no CUDA; the modules that need a device load it when called.
"""
