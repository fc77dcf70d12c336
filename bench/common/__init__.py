"""What the benches of this folder have in common: data, a fair run, rounds in turns, tables, and the program itself."""
