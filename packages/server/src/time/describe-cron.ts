import type { CronField, CronFields, SpecialDay } from './cron-syntax.js'
import { timesWords } from './describe-times.js'
import { listText } from './iso-text.js'
import { dayWords, monthWords, nthWord, ordinal, weekdayWord, weekdayWords } from './number-words.js'

/** A cron expression in words: "At 09:00 on Monday". */
export function cronWords(fields: CronFields): string {
  const { hours, minutes, seconds } = fields
  const times = timesWords({ hours: hours.values, minutes: minutes.values, seconds: seconds.values })
  const days = daysWords(fields, times.ofDay)
  return days === '' ? times.text : `${times.text} ${days}`
}

function daysWords(fields: CronFields, sayEveryDay: boolean): string {
  const { days, weekdays, months, bothDays } = fields
  const someMonths = months.values.length < 12
  const inMonths = someMonths ? ` ${spanned('in', monthWords(months.values))}` : ''
  const anyWeekday = weekdays.any || (weekdays.values.length === 7 && (days.any || bothDays))
  if (days.any && anyWeekday) return sayEveryDay ? `every day${inMonths}` : inMonths.trim()
  const ofMonth = someMonths ? `of ${monthWords(months.values)}` : 'of the month'
  if (days.any) return `${onWeekdays(weekdays, ofMonth)}${weekdays.values.length > 0 ? inMonths : ''}`
  const monthDays = onDays(days, ofMonth)
  if (anyWeekday) return monthDays
  if (bothDays) return `${monthDays}, if that is ${weekdayNouns(weekdays, ofMonth, 'or')}`
  return `${monthDays} or ${onWeekdays(weekdays, ofMonth)}${weekdays.values.length > 0 ? inMonths : ''}`
}

function onDays({ values, special }: CronField, ofMonth: string): string {
  const nouns = [...(values.length > 0 ? [dayWords(values)] : []), ...special.map(specialWords)]
  return `on ${listText(nouns)} ${ofMonth}`
}

function onWeekdays(field: CronField, ofMonth: string): string {
  return spanned('on', weekdayNouns(field, ofMonth, 'and'))
}

/** "on Monday", but "from Monday to Friday". */
function spanned(preposition: string, words: string): string {
  return `${/^[A-Z][a-z]+ to [A-Z][a-z]+$/.test(words) ? 'from' : preposition} ${words}`
}

function weekdayNouns({ values, special }: CronField, ofMonth: string, last: 'and' | 'or'): string {
  const article = last === 'or' && values.length === 1 ? 'a ' : ''
  const plain = values.length > 0 ? [`${article}${weekdayWords(values, last)}`] : []
  const counted = special.length > 0 ? [`${listText(special.map(specialWords), last)} ${ofMonth}`] : []
  return listText([...plain, ...counted], last)
}

function specialWords(special: SpecialDay): string {
  switch (special.kind) {
    case 'last':
      return special.back === 0 ? 'the last day' : `the ${ordinal(special.back)} day before the last`
    case 'nearest':
      return `the weekday nearest to the ${ordinal(special.day)}`
    case 'nearestLast':
      return special.back === 0
        ? 'the last weekday'
        : `the weekday nearest to the ${ordinal(special.back)} day before the last`
    case 'nth':
      return `the ${nthWord(special.nth)} ${weekdayWord(special.weekday)}`
    case 'lastOf':
      return `the last ${weekdayWord(special.weekday)}`
  }
}
