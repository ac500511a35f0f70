"""Compiled kernels, one module a room. Python checks every argument before it calls one."""
