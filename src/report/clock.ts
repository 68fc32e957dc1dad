/** Times as people read them: by a clock, and as short as they are clear. */

/** The parts of a short time, by the clock of one zone. */
export function clockOf(
  timeZone?: string,
): Readonly<Record<'zone' | 'second' | 'minute' | 'weekday' | 'day' | 'date', Intl.DateTimeFormat>> {
  return {
    zone: new Intl.DateTimeFormat('en-GB', { timeZone, timeZoneName: 'short' }),
    second: new Intl.DateTimeFormat('en-GB', {
      timeZone,
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
    }),
    minute: new Intl.DateTimeFormat('en-GB', { timeZone, hour: '2-digit', minute: '2-digit' }),
    weekday: new Intl.DateTimeFormat('en-GB', { timeZone, weekday: 'short' }),
    day: new Intl.DateTimeFormat('en-GB', { timeZone, day: 'numeric', month: 'short' }),
    date: new Intl.DateTimeFormat('en-CA', { timeZone, year: 'numeric', month: '2-digit', day: '2-digit' }),
  };
}

/** The reader's clock. */
export const ownClock = clockOf();

/** Milliseconds within which a weekday without a date is unambiguous. */
const WEEK_MS = 6 * 86_400_000;

/** Local time: `10:41` today, `Tue 10:41` within six days, otherwise `22 Nov 10:41`, with its year if it is another. */
export function briefTime(time: string, now: number = Date.now()): string {
  const { minute, weekday, date: days } = ownClock;
  const date = new Date(time);
  if (days.format(date) === days.format(now)) return minute.format(date);
  if (Math.abs(now - date.getTime()) < WEEK_MS) return `${weekday.format(date)} ${minute.format(date)}`;
  return dayBy(ownClock, time, now);
}

/** Day and time by a clock, with the year if it is another. */
export function dayBy(
  { minute, day, date: days }: typeof ownClock,
  time: string,
  now: number,
  clock = minute,
): string {
  const date = new Date(time);
  const [year = ''] = days.format(date).split('-');
  return `${day.format(date)}${days.format(now).startsWith(`${year}-`) ? '' : ` ${year}`} ${clock.format(date)}`;
}

/** Replaces `from … until …` by `at …` where both ends would be shown as the same short time. */
export function withoutSameTimes(text: string): string {
  return text.replaceAll(/from ([\d:.T-]+Z) until ([\d:.T-]+Z)/g, (period, from: string, until: string) =>
    briefTime(from) === briefTime(until) ? `at ${from}` : period,
  );
}

/** A text for a terminal: each instant in it (RFC 3339, UTC) becomes a short local time. */
export function withShortTimes(text: string): string {
  return withoutSameTimes(text).replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, (time) => briefTime(time));
}
