"""What is claimed about speed, measured against real peers in one run. `make bench` runs it and writes RESULTS.md."""

import os

for library in ("OPENBLAS", "OMP", "MKL"):  # before numpy is imported: one thread for everybody
    os.environ[f"{library}_NUM_THREADS"] = "1"
