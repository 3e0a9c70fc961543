"""What is claimed about speed, measured against real peers in one run. `make bench` runs it and writes the README's table."""
