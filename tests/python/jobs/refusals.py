"""Calls that must raise an error with a text."""


def refused(error, text, call, *arguments, **more):
    try:
        call(*arguments, **more)
    except error as found:
        said = str(found)
    else:
        raise AssertionError(f"no {error.__name__} with '{text}'")
    assert text in said, f"'{text}' is not in: {said}"
