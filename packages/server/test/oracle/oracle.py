"""A second oracle, over Python's zoneinfo.

It goes the other way round than the first one: it walks the wall minutes of a window and asks, with PEP 495 folds,
which instants show each of them. It reads one JSON object a line
  {"rule", "zone", "dst_gap", "dst_overlap", "from", "to"}   (instants in milliseconds)
or, with "rrule" and "dtstart" (a local time) in place of "rule", about a recurrence rule, whose wall times come from dateutil,
and prints, a line each, {"ticks": [...], "offsets": [...]}, or {"unknown": zone} for a zone it has no data for.
The offsets (seconds, one for every 15 minutes of the window and a day around it) let the caller leave out the windows
in which both zone databases differ.
"""

import calendar
import json
import sys
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

NICKNAMES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
MONTHS = {name: i + 1 for i, name in enumerate("JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC".split())}
WEEKDAYS = {name: i for i, name in enumerate("SUN MON TUE WED THU FRI SAT".split())}
EVERY = ("*", "?", "*/1")
MINUTE = timedelta(minutes=1)
MARGIN = timedelta(hours=26)


def number(text, names):
    return names[text] if text in names else int(text)


def numbers(field, low, high, names={}):
    """The set of numbers that a plain field names. A range may run over the end: 22-2."""
    found = set()
    for entry in field.split(","):
        body, _, step = entry.partition("/")
        if body in ("*", "?"):
            first, last = low, high
        elif "-" in body:
            first, last = (number(part, names) for part in body.split("-"))
        else:
            first = number(body, names)
            last = high if step else first
        if first <= last:
            run = list(range(first, last + 1))
        else:
            run = list(range(first, high + 1)) + list(range(low, last + 1))
        found.update(run[:: int(step or 1)])
    return found


def nearest_workday(year, month, day, last):
    if day > last:
        return None
    which = calendar.weekday(year, month, day)
    if which == 5:
        return day - 1 if day > 1 else day + 2
    if which == 6:
        return day + 1 if day < last else day - 2
    return day


def month_days(field, year, month):
    """The days of one month that the day-of-month field names."""
    last = calendar.monthrange(year, month)[1]
    days = set()
    for entry in field.split(","):
        if entry == "L":
            days.add(last)
        elif entry == "LW":
            days.add(nearest_workday(year, month, last, last))
        elif entry.startswith("L-"):
            days.add(last - int(entry[2:]))
        elif entry.endswith("W"):
            days.add(nearest_workday(year, month, int(entry[:-1]), last))
        else:
            days |= numbers(entry, 1, 31)
    return {day for day in days if day is not None and 1 <= day <= last}


def week_days(field, year, month):
    """The days of one month that the day-of-week field names."""
    last = calendar.monthrange(year, month)[1]
    days = set()
    for entry in field.split(","):
        if "#" in entry:
            name, nth = entry.split("#")
            matching = days_on(number(name, WEEKDAYS) % 7, year, month, last)
            days.update(matching[int(nth) - 1 : int(nth)])
        elif entry.endswith("L"):
            days.add(days_on(number(entry[:-1], WEEKDAYS) % 7, year, month, last)[-1])
        else:
            top = 7 if entry.endswith("7") or "-7" in entry else 6
            for weekday in numbers(entry, 0, top, WEEKDAYS):
                days.update(days_on(weekday % 7, year, month, last))
    return days


def days_on(weekday, year, month, last):
    return [day for day in range(1, last + 1) if (calendar.weekday(year, month, day) + 1) % 7 == weekday]


class Rule:
    def __init__(self, text):
        fields = NICKNAMES.get(text.lower(), text).upper().split()
        minute, hour, self.day, month, weekday = fields
        self.minutes = numbers(minute, 0, 59)
        self.hours = numbers(hour, 0, 23)
        self.months = numbers(month, 1, 12, MONTHS)
        self.every_hour = hour in EVERY
        self.both = weekday.startswith("+")
        self.weekday = weekday.lstrip("+")
        self.days = {}

    def days_in(self, year, month):
        if (year, month) not in self.days:
            by_day = month_days(self.day, year, month)
            by_weekday = week_days(self.weekday, year, month)
            narrow = self.both or self.day in EVERY or self.weekday in EVERY
            self.days[year, month] = by_day & by_weekday if narrow else by_day | by_weekday
        return self.days[year, month]

    def matches(self, wall):
        return (
            wall.minute in self.minutes
            and wall.hour in self.hours
            and wall.month in self.months
            and wall.day in self.days_in(wall.year, wall.month)
        )


def instants_showing(wall, zone):
    """Every instant whose reading is the wall time: none in a gap, two in an overlap."""
    found = set()
    for fold in (0, 1):
        instant = wall.replace(tzinfo=zone, fold=fold).astimezone(timezone.utc)
        if instant.astimezone(zone).replace(tzinfo=None) == wall:
            found.add(instant)
    return sorted(found)


def end_of_gap(wall, zone):
    """The first instant that shows a later reading than a wall time that is never shown."""
    both = [wall.replace(tzinfo=zone, fold=fold).astimezone(timezone.utc) for fold in (0, 1)]
    low, high = min(both) - MINUTE, max(both) + MINUTE
    while high - low > timedelta(seconds=1):
        middle = low + timedelta(seconds=(high - low) // timedelta(seconds=2))
        if middle.astimezone(zone).replace(tzinfo=None) > wall:
            high = middle
        else:
            low = middle
    return high


class Recurrence:
    """The wall times of an RFC 5545 rule, as dateutil expands them."""

    def __init__(self, text, dtstart, until):
        from dateutil.rrule import rrulestr

        parts = dict(part.split("=") for part in text.split(";"))
        self.every_hour = parts["FREQ"] in ("HOURLY", "MINUTELY", "SECONDLY") and "BYHOUR" not in parts
        self.walls = set()
        for wall in rrulestr(text, dtstart=datetime.fromisoformat(dtstart)):
            if wall > until:
                break
            self.walls.add(wall)

    def matches(self, wall):
        return wall in self.walls


def rule_of(question, last_wall):
    if "rrule" in question:
        return Recurrence(question["rrule"], question["dtstart"], last_wall)
    return Rule(question["rule"])


def ticks_of(question, zone):
    start = datetime.fromtimestamp(question["from"] / 1000, timezone.utc)
    end = datetime.fromtimestamp(question["to"] / 1000, timezone.utc)
    wall = (start - MARGIN).replace(tzinfo=None, second=0, microsecond=0)
    last_wall = (end + MARGIN).replace(tzinfo=None)
    rule = rule_of(question, last_wall)
    ticks = set()
    while wall <= last_wall:
        if rule.matches(wall):
            ticks.update(fixed_or_following(rule, wall, zone, question))
        wall += MINUTE
    return sorted(round(tick.timestamp() * 1000) for tick in ticks if start <= tick <= end)


def fixed_or_following(rule, wall, zone, question):
    instants = instants_showing(wall, zone)
    if rule.every_hour:
        return instants
    if not instants:
        return [end_of_gap(wall, zone)] if question["dst_gap"] == "run_after" else []
    return {"first": instants[:1], "last": instants[-1:], "both": instants}[question["dst_overlap"]]


def offsets_of(question, zone):
    quarter = 900_000
    first, last = question["from"] // quarter - 108, question["to"] // quarter + 108
    readings = (datetime.fromtimestamp(i * 900, timezone.utc).astimezone(zone) for i in range(first, last + 1))
    return [reading.utcoffset().total_seconds() for reading in readings]


def answer(question):
    try:
        zone = ZoneInfo(question["zone"])
    except (ZoneInfoNotFoundError, ValueError):
        return {"unknown": question["zone"]}
    return {"ticks": ticks_of(question, zone), "offsets": offsets_of(question, zone)}


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)
