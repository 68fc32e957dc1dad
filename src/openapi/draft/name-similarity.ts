/** How alike two names are, from 0 to 1: by their words, whatever the separators and the case, or by their letters. */
export function nameSimilarity(one: string, other: string): number {
  const [words, others] = [wordsOf(one), wordsOf(other)];
  const common = words.filter((word) => others.includes(word)).length;
  const byWords = common / Math.max(1, new Set([...words, ...others]).size);
  return Math.max(byWords, letterSimilarity(words.join(''), others.join('')));
}

/** True for names that differ in case and separators only. */
export function isSameName(one: string, other: string): boolean {
  return wordsOf(one).join('') === wordsOf(other).join('');
}

/** True for names that differ in case and separators only, or of which one has all words of the other and at least as many as it lacks. */
export function isRelatedName(one: string, other: string): boolean {
  if (isSameName(one, other)) return true;
  const [fewer = new Set<string>(), more = new Set<string>()] = [one, other]
    .map((name) => new Set(wordsOf(name)))
    .toSorted((a, b) => a.size - b.size);
  return fewer.size > 0 && fewer.size * 2 >= more.size && [...fewer].every((word) => more.has(word));
}

/** The ends of a path of names, each as letters without separators: `address_city` ends as `address.city` does. */
export function endsOf(path: readonly string[]): ReadonlySet<string> {
  const names = path.filter((name) => name !== '*').map((name) => wordsOf(name).join('') || name);
  return new Set(names.map((_, at) => names.slice(at).join('')));
}

/** The units that a name or a text tells, sorted: values of another unit are other values. */
export function unitsIn(text: string): string {
  const words = wordsOf(text);
  const last = words.at(-1) ?? '';
  const units = words.filter((word) => UNITS.has(word));
  if (SHORT_UNITS.has(last)) units.push(last);
  return [...new Set(units.map((unit) => SAME_UNITS.get(unit) ?? unit))].toSorted().join(', ');
}

/** Words that tell a unit or a form of a value, wherever they stand. */
const UNITS: ReadonlySet<string> = new Set(
  `cent cents pence pennies minor major dollars euros pounds aud usd eur gbp nzd jpy chf cad micros millis nanos
  ms msec msecs millisecond milliseconds microseconds nanoseconds sec secs seconds mins minutes hrs hours days weeks months years
  epoch unix timestamp iso utc percent percentage pct ratio fraction bps permille
  bytes kb mb gb kib mib gib kilobytes megabytes bits px pixels pt dpi
  mm cm km metre metres meter meters millimetres centimetres kilometres kilometers miles mile ft feet foot inch inches yards
  sqm sqft m2 ft2 acres hectares kg kilograms grams mg lb lbs oz celsius fahrenheit kelvin deg degrees rad radians kmh mph kw kwh`.split(
    /\s+/,
  ),
);

/** Words that tell a unit at the end of a name only. */
const SHORT_UNITS: ReadonlySet<string> = new Set('s m h d g b c f k l t v w min in us ns hz'.split(' '));

const SAME_UNITS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    cent: 'cents',
    pence: 'cents',
    minor: 'cents',
    millis: 'ms',
    msec: 'ms',
    msecs: 'ms',
    millisecond: 'ms',
    milliseconds: 'ms',
    s: 'seconds',
    sec: 'seconds',
    secs: 'seconds',
    min: 'minutes',
    mins: 'minutes',
    h: 'hours',
    hrs: 'hours',
    d: 'days',
    percent: 'pct',
    percentage: 'pct',
    metre: 'm',
    metres: 'm',
    meter: 'm',
    meters: 'm',
    unix: 'epoch',
    lbs: 'lb',
    foot: 'ft',
    feet: 'ft',
    m2: 'sqm',
    ft2: 'sqft',
  }),
);

/** The words of a name in snake case, kebab case or camel case, in lower case. */
function wordsOf(name: string): readonly string[] {
  return name
    .replaceAll(/([a-z\d])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\d]+/u)
    .filter((word) => word !== '');
}

/** 1 minus the Levenshtein distance as a part of the longer name. */
function letterSimilarity(one: string, other: string): number {
  const longer = Math.max(one.length, other.length);
  if (longer === 0 || longer > 200) return 0;
  let row = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let at = 1; at <= one.length; at += 1) {
    const next = [at];
    for (let to = 1; to <= other.length; to += 1) {
      const change = one[at - 1] === other[to - 1] ? 0 : 1;
      next.push(Math.min((row[to - 1] ?? 0) + change, (row[to] ?? 0) + 1, (next[to - 1] ?? 0) + 1));
    }
    row = next;
  }
  return 1 - (row[other.length] ?? 0) / longer;
}
