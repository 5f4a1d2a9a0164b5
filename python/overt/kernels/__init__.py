"""Kernels for GPUs; the sources stand in the repository's `cuda/`. Importing one needs Triton."""
