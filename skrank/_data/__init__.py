"""Lists, groups and checks: what stands below everything else."""
