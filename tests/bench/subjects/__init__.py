"""What is measured: each module is run as a process of its own and prints its figures as one line of JSON."""
