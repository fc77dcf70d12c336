"""Random tables of labels against Python's csv; random_tables.py has the long run."""

from random_tables import count


def test_random_tables_are_refused_or_say_what_csv_reads():
    wrong = []
    found = count(60, 1, wrong.append)
    assert not found["wrong"], wrong
    assert found["agrees"] > 20 and found["refused though it is clear"] < 10, (found, wrong)
