"""What a kernel computes and how long it takes, predicted cycle by cycle without a GPU.

Empty so far: the event engine, the machines and `simulate` come here.
"""
