"""What the programs for Python share: checks that print a line each, and the status of a refusal."""
import sys
import traceback

CHECKS = []


def check(run):
    CHECKS.append(run)
    return run


def refusal(run):
    """Returns the status of the refusal that `run` ends with. Both versions of the client name it `status_code`."""
    try:
        run()
    except Exception as failure:
        if not hasattr(failure, 'status_code'):
            raise
        return failure.status_code
    raise AssertionError('the request was not refused')


def run_checks():
    """Runs every check. The program ends with exit code 1 if one has failed."""
    failed = 0
    for run in CHECKS:
        try:
            run()
            print('ok     %s' % run.__name__)
        except Exception:
            failed += 1
            print('FAILED %s' % run.__name__)
            traceback.print_exc(file=sys.stdout)
    sys.exit(1 if failed else 0)
