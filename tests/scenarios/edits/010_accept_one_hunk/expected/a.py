def one():
    return 1


def two():
    return 20


def three():
    return 30
