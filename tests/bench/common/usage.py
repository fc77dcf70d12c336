"""What a program has used so far, in the form in which it tells measure.py."""

import json
import resource

BLOCK = 512  # the unit of ru_inblock and ru_oublock


def used(*who):
    found = [resource.getrusage(one) for one in who]
    return json.dumps({
        "cpu": sum(usage.ru_utime + usage.ru_stime for usage in found),
        "read": sum(usage.ru_inblock for usage in found) * BLOCK,
        "written": sum(usage.ru_oublock for usage in found) * BLOCK,
        "max_rss": max(usage.ru_maxrss for usage in found) * 1024,
    })
