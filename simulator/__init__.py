"""What a kernel computes and how long it takes, predicted without a GPU.

`engine` has processes and time, `resource` what they share: pipes and pools.
"""
