"""What a slice costs, counted on one workload that other runtimes were measured on, too."""
