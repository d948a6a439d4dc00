// Examples of RFC 5545, section 3.8.5.3, all in America/New_York: rule, local start, the first local times that follow from
// it (the start included), and whether these are all. Left out are those that repeat another one or need an EXDATE.

export type RecurrenceVector = [rrule: string, dtstart: string, times: string, end?: 'ends']

/** `1997 09-02 09-04 1998 01-03 09:00`: a year holds for the dates after it, a time for the dates before it. */
export function wallTimes(times: string): string[] {
  let year = ''
  const dates: string[] = []
  const clock: string[] = []
  for (const word of times.split(/\s+/)) {
    if (/^\d{4}$/.test(word)) year = word
    else if (word.includes(':')) clock.push(word)
    else dates.push(`${year}-${word}`)
  }
  return dates.flatMap((date) => (clock.length > 0 ? clock : ['09:00']).map((time) => `${date}T${time}`))
}

const tuesday = '1997-09-02T09:00:00'

export const rfcExamples: RecurrenceVector[] = [
  [
    'FREQ=DAILY;COUNT=10',
    tuesday,
    '1997 09-02 09-03 09-04 09-05 09-06 09-07 09-08 09-09 09-10 09-11',
    'ends',
  ],
  ['FREQ=DAILY;INTERVAL=2', tuesday, '1997 09-02 09-04 09-06 09-08'],
  ['FREQ=DAILY;INTERVAL=10;COUNT=5', tuesday, '1997 09-02 09-12 09-22 10-02 10-12', 'ends'],
  [
    'FREQ=WEEKLY;COUNT=10',
    tuesday,
    '1997 09-02 09-09 09-16 09-23 09-30 10-07 10-14 10-21 10-28 11-04',
    'ends',
  ],
  ['FREQ=WEEKLY;INTERVAL=2;WKST=SU', tuesday, '1997 09-02 09-16 09-30 10-14 10-28 11-11'],
  [
    'FREQ=WEEKLY;COUNT=10;WKST=SU;BYDAY=TU,TH',
    tuesday,
    '1997 09-02 09-04 09-09 09-11 09-16 09-18 09-23 09-25 09-30 10-02',
    'ends',
  ],
  [
    'FREQ=WEEKLY;INTERVAL=2;UNTIL=19971224T000000Z;WKST=SU;BYDAY=MO,WE,FR',
    '1997-09-01T09:00:00',
    '1997 09-01 09-03 09-05 09-15 09-17 09-19 09-29 10-01 10-03 10-13 10-15 10-17 10-27 10-29 10-31 11-10 11-12 11-14 11-24 11-26 11-28 12-08 12-10 12-12 12-22',
    'ends',
  ],
  [
    'FREQ=WEEKLY;INTERVAL=2;COUNT=8;WKST=SU;BYDAY=TU,TH',
    tuesday,
    '1997 09-02 09-04 09-16 09-18 09-30 10-02 10-14 10-16',
    'ends',
  ],
  [
    'FREQ=MONTHLY;COUNT=10;BYDAY=1FR',
    '1997-09-05T09:00:00',
    '1997 09-05 10-03 11-07 12-05 1998 01-02 02-06 03-06 04-03 05-01 06-05',
    'ends',
  ],
  [
    'FREQ=MONTHLY;INTERVAL=2;COUNT=10;BYDAY=1SU,-1SU',
    '1997-09-07T09:00:00',
    '1997 09-07 09-28 11-02 11-30 1998 01-04 01-25 03-01 03-29 05-03 05-31',
    'ends',
  ],
  [
    'FREQ=MONTHLY;COUNT=6;BYDAY=-2MO',
    '1997-09-22T09:00:00',
    '1997 09-22 10-20 11-17 12-22 1998 01-19 02-16',
    'ends',
  ],
  ['FREQ=MONTHLY;BYMONTHDAY=-3', '1997-09-28T09:00:00', '1997 09-28 10-29 11-28 12-29 1998 01-29 02-26'],
  [
    'FREQ=MONTHLY;COUNT=10;BYMONTHDAY=2,15',
    tuesday,
    '1997 09-02 09-15 10-02 10-15 11-02 11-15 12-02 12-15 1998 01-02 01-15',
    'ends',
  ],
  [
    'FREQ=MONTHLY;COUNT=10;BYMONTHDAY=1,-1',
    '1997-09-30T09:00:00',
    '1997 09-30 10-01 10-31 11-01 11-30 12-01 12-31 1998 01-01 01-31 02-01',
    'ends',
  ],
  [
    'FREQ=MONTHLY;INTERVAL=18;COUNT=10;BYMONTHDAY=10,11,12,13,14,15',
    '1997-09-10T09:00:00',
    '1997 09-10 09-11 09-12 09-13 09-14 09-15 1999 03-10 03-11 03-12 03-13',
    'ends',
  ],
  [
    'FREQ=MONTHLY;INTERVAL=2;BYDAY=TU',
    tuesday,
    '1997 09-02 09-09 09-16 09-23 09-30 11-04 11-11 11-18 11-25 1998 01-06',
  ],
  [
    'FREQ=YEARLY;COUNT=10;BYMONTH=6,7',
    '1997-06-10T09:00:00',
    '1997 06-10 07-10 1998 06-10 07-10 1999 06-10 07-10 2000 06-10 07-10 2001 06-10 07-10',
    'ends',
  ],
  [
    'FREQ=YEARLY;INTERVAL=2;COUNT=10;BYMONTH=1,2,3',
    '1997-03-10T09:00:00',
    '1997 03-10 1999 01-10 02-10 03-10 2001 01-10 02-10 03-10 2003 01-10 02-10 03-10',
    'ends',
  ],
  [
    'FREQ=YEARLY;INTERVAL=3;COUNT=10;BYYEARDAY=1,100,200',
    '1997-01-01T09:00:00',
    '1997 01-01 04-10 07-19 2000 01-01 04-09 07-18 2003 01-01 04-10 07-19 2006 01-01',
    'ends',
  ],
  ['FREQ=YEARLY;BYDAY=20MO', '1997-05-19T09:00:00', '1997 05-19 1998 05-18 1999 05-17'],
  ['FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO', '1997-05-12T09:00:00', '1997 05-12 1998 05-11 1999 05-17'],
  [
    'FREQ=YEARLY;BYMONTH=3;BYDAY=TH',
    '1997-03-13T09:00:00',
    '1997 03-13 03-20 03-27 1998 03-05 03-12 03-19 03-26',
  ],
  ['FREQ=YEARLY;BYDAY=TH;BYMONTH=6,7,8', '1997-06-05T09:00:00', '1997 06-05 06-12 06-19 06-26 07-03 07-10'],
  [
    'FREQ=MONTHLY;BYDAY=SA;BYMONTHDAY=7,8,9,10,11,12,13',
    '1997-09-13T09:00:00',
    '1997 09-13 10-11 11-08 12-13 1998 01-10 02-07 03-07',
  ],
  [
    'FREQ=YEARLY;INTERVAL=4;BYMONTH=11;BYDAY=TU;BYMONTHDAY=2,3,4,5,6,7,8',
    '1996-11-05T09:00:00',
    '1996 11-05 2000 11-07 2004 11-02',
  ],
  ['FREQ=MONTHLY;COUNT=3;BYDAY=TU,WE,TH;BYSETPOS=3', '1997-09-04T09:00:00', '1997 09-04 10-07 11-06', 'ends'],
  [
    'FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-2',
    '1997-09-29T09:00:00',
    '1997 09-29 10-30 11-27 12-30 1998 01-29',
  ],
  ['FREQ=MINUTELY;INTERVAL=15;COUNT=6', tuesday, '1997 09-02 09:00 09:15 09:30 09:45 10:00 10:15', 'ends'],
  ['FREQ=MINUTELY;INTERVAL=90;COUNT=4', tuesday, '1997 09-02 09:00 10:30 12:00 13:30', 'ends'],
  [
    'FREQ=DAILY;BYHOUR=9,10,11,12,13,14,15,16;BYMINUTE=0,20,40',
    tuesday,
    '1997 09-02 09-03 09:00 09:20 09:40 10:00 10:20 10:40 11:00 11:20 11:40 12:00 12:20 12:40 13:00 13:20 13:40 14:00 14:20 14:40 15:00 15:20 15:40 16:00 16:20 16:40',
  ],
  [
    'FREQ=MINUTELY;INTERVAL=20;BYHOUR=9,10,11,12,13,14,15,16',
    tuesday,
    '1997 09-02 09-03 09:00 09:20 09:40 10:00 10:20 10:40 11:00 11:20 11:40 12:00 12:20 12:40 13:00 13:20 13:40 14:00 14:20 14:40 15:00 15:20 15:40 16:00 16:20 16:40',
  ],
  [
    'FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=MO',
    '1997-08-05T09:00:00',
    '1997 08-05 08-10 08-19 08-24',
    'ends',
  ],
  [
    'FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=SU',
    '1997-08-05T09:00:00',
    '1997 08-05 08-17 08-19 08-31',
    'ends',
  ],
  [
    'FREQ=MONTHLY;BYMONTHDAY=15,30;COUNT=5',
    '2007-01-15T09:00:00',
    '2007 01-15 01-30 02-15 03-15 03-30',
    'ends',
  ],
]
