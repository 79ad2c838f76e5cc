"""Lists, groups and checks, on which all other rooms build."""
