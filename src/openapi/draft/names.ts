/** True for names that differ in case and separators only. */
export function isSameName(one: string, other: string): boolean {
  return wordsOf(one).join('') === wordsOf(other).join('');
}

/** The words of a name in snake case, kebab case or camel case, in lower case. */
export function wordsOf(name: string): readonly string[] {
  const known = wordsByName.get(name);
  if (known !== undefined) return known;
  const words = splitWords(name);
  // Descriptions have some thousand names; their texts are not kept.
  if (name.length < 100 && wordsByName.size < MAX_KEPT) wordsByName.set(name, words);
  return words;
}

/** The singular of a word, judged by its ending. */
export function singular(word: string): string {
  if (word.length > 3 && word.endsWith('ies')) return `${word.slice(0, -3)}y`;
  if (word.length > 4 && /(?:s|x|z|ch|sh)es$/.test(word)) return word.slice(0, -2);
  return isPlural(word) ? word.slice(0, -1) : word;
}

/** Common short forms of words in names, and other words for the same. */
const SHORT_FORMS: ReadonlyMap<string, string> = new Map(
  `amt amount|desc description|descr description|nm name|cd code|qty quantity|addr address|num number|nbr number|nr number|dt date|cust customer
  acct account|tel telephone|msg message|ref reference|org organization|organisation organization|img image|lang language|pwd password
  cfg config|ts timestamp|lat latitude|lon longitude|lng longitude|dept department|mgr manager|txn transaction|tx transaction|pmt payment
  ctry country|curr currency|ccy currency|bal balance|avg average|pct percent|idx index|len length|src source|dest destination|attr attribute
  param parameter|prev previous|seq sequence|ver version|freq frequency|cat category|vat tax`
    .split(/[|\n]/)
    .map((pair) => pair.trim().split(' '))
    .flatMap(([short = '', long = '']) => [[short, long] as const]),
);

/** The common stem of a word, its plural and its short form: `sizes` may belong to `size` or to `siz`, which its ending does not show. */
function stem(word: string): string {
  const short = singular(word);
  const one = SHORT_FORMS.get(short) ?? short;
  return /(?:s|x|z|ch|sh)e$/.test(one) ? one.slice(0, -1) : one;
}

/** True for a plural, judged by its ending. */
export function isPlural(word: string): boolean {
  return word.length > 3 && word.endsWith('s') && !word.endsWith('ss');
}

/** Maximum names in the cache. */
const MAX_KEPT = 50_000;

const wordsByName = new Map<string, readonly string[]>();

function splitWords(name: string): readonly string[] {
  return (
    name
      .replaceAll(/([a-z\d])([A-Z])/g, '$1 $2')
      // The last capital of several begins a word, as in `threeDSPaymentData`, except in plurals and versions (`userIDs`, `IPv4`).
      .replaceAll(/([A-Z])([A-Z](?!s(?![a-z])|v\d)[a-z])/g, '$1 $2')
      .toLowerCase()
      .split(/[^\p{L}\d]+/u)
      .filter((word) => word !== '')
  );
}

/**
 * True for names that differ in case and separators only, or if one has all words of the other, and the other has at least half of its
 * words.
 */
export function isRelatedName(one: string, other: string): boolean {
  if (isSameName(one, other)) return true;
  const [fewer = new Set<string>(), more = new Set<string>()] = [one, other]
    .map((name) => new Set(wordsOf(name).map(stem)))
    .toSorted((a, b) => a.size - b.size);
  return fewer.size > 0 && fewer.size * 2 >= more.size && [...fewer].every((word) => more.has(word));
}

/** The kind of an identifier, by the last word of its name. */
const IDENTIFIERS: ReadonlyMap<string, string> = new Map([
  ...'id sid uuid guid uid oid'.split(' ').map((word) => [word, 'id'] as const),
  ...'name username slug handle login'.split(' ').map((word) => [word, 'name'] as const),
  ...'key code email sku token hash index'.split(' ').map((word) => [word, word] as const),
]);

/** True for names of identifiers of which each is of another kind: an account's `user_handle` is not its `user_id`. */
export function areOtherIdentifiers(one: string, other: string): boolean {
  const [first, second] = [one, other].map((name) => IDENTIFIERS.get(wordsOf(name).at(-1) ?? ''));
  return first !== undefined && second !== undefined && first !== second;
}

/** Last words of the names of identifiers. */
const IDENTIFYING: ReadonlySet<string> = new Set(
  'id ids sid uuid guid uid oid no number num key code sku ref reference token identifier handle slug'.split(
    ' ',
  ),
);

/** Words that end as `txid` does, and identify nothing. */
const NO_IDENTIFIERS: ReadonlySet<string> = new Set(
  'paid unpaid prepaid valid invalid void avoid grid bid hybrid solid rapid fluid android said'.split(' '),
);

/** True for the name of an identifier, such as `project_id` or `txid`. */
export function isIdentifier(name: string): boolean {
  const last = wordsOf(name).at(-1) ?? '';
  return IDENTIFYING.has(last) || (last.endsWith('id') && !NO_IDENTIFIERS.has(last));
}

export function singularName(name: string): string {
  return wordsOf(name).join('').replace(/s$/, '');
}

/** True for names that have a word in common, or nearly all letters. */
export function isAlike(one: string, other: string): boolean {
  const words = new Set(wordsOf(other).map(stem));
  return nameSimilarity(one, other) >= 0.8 || wordsOf(one).some((word) => words.has(stem(word)));
}

/** The likeness of two names, from 0 to 1: by their words, without separators and case, or by their letters. */
export function nameSimilarity(one: string, other: string): number {
  const [words, others] = [one, other].map((name) =>
    wordsOf(name).map((word) => SHORT_FORMS.get(word) ?? word),
  );
  if (words === undefined || others === undefined) return 0;
  const common = words.filter((word) => others.includes(word)).length;
  const byWords = common / Math.max(1, new Set([...words, ...others]).size);
  return Math.max(byWords, letterSimilarity(words.join(''), others.join('')));
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

/** The letters of a name without separators, in the singular: `tags` may be the list that `tag` has become. */
export function plainName(name: string): string {
  const known = plainNames.get(name);
  if (known !== undefined) return known;
  const plain = wordsOf(name).map(stem).join('') || name;
  if (plainNames.size < MAX_KEPT) plainNames.set(name, plain);
  return plain;
}

const plainNames = new Map<string, string>();

/** Names by which APIs call the same query parameter. */
const QUERY_NAMES: readonly ReadonlySet<string>[] =
  `limit perpage pagesize size count maxresults maxitems take top rows itemsperpage resultsperpage
  q query search searchterm term keyword keywords text filter
  page pagenumber pageno pageindex
  offset skip start startindex firstresult
  sort sortby order orderby ordering
  fields select only
  include expand embed with
  cursor after pagetoken nexttoken startingafter continuationtoken
  from since after datefrom startdate begin createdafter
  to until before dateto enddate end createdbefore
  status state
  lang language locale`
    .split('\n')
    .map((line) => new Set(line.trim().split(' ')));

/** True if APIs call the same query parameter by both names: `per_page` and `limit`. */
export function isSameQuery(one: string, other: string): boolean {
  const [first, second] = [one, other].map((name) => wordsOf(name).join(''));
  return QUERY_NAMES.some((names) => names.has(first ?? '') && names.has(second ?? ''));
}

/** Words of the names of query parameters that are the lower, or the upper, limit of what a client asks for. */
const LIMITS = {
  lower: new Set('from since after start begin min gt gte'.split(' ')),
  upper: new Set('to until before end max lt lte'.split(' ')),
} as const;

/** The limit that the name of a query parameter says it is: its last word, as in `startsAfter`, or else its first one, as in `startDate`. */
export function limitIn(name: string): keyof typeof LIMITS | undefined {
  const words = wordsOf(name);
  for (const word of [words.at(-1) ?? '', words[0] ?? '']) {
    if (LIMITS.lower.has(word)) return 'lower';
    if (LIMITS.upper.has(word)) return 'upper';
  }
  return undefined;
}

/** Names by which APIs call the same member of an object. */
const MEMBER_NAMES: readonly ReadonlySet<string>[] = `firstname givenname forename given namegiven namefirst
  lastname familyname surname family namefamily namelast
  kind type
  plate registration licenseplate licenceplate numberplate registrationnumber
  zip zipcode postcode postalcode
  street streetaddress streetline1 street1 line1 addressline1 address1
  sex gender
  price cost amount fare fee
  note notes remark remarks comment comments
  seats capacity
  text description`
  .split('\n')
  .map((line) => new Set(line.trim().split(' ')));

/** True if APIs call the same member by both names: `first_name` and `given`. */
export function isSameMember(one: string, other: string): boolean {
  const [first, second] = [one, other].map((name) => wordsOf(name).join(''));
  return MEMBER_NAMES.some((names) => names.has(first ?? '') && names.has(second ?? ''));
}

/** True if the end of a path in one name has such a name: `address.postal_code` for `zip`. */
export function endsAsSameMember(one: string, path: string): boolean {
  const words = wordsOf(path);
  return words.some((_, at) => isSameMember(one, words.slice(at).join('_')));
}

/** True if two names have a word in common that does not only say that they identify something. */
export function haveCommonWord(one: string, other: string): boolean {
  const words = new Set(wordsOf(other).map(stem));
  return wordsOf(one).some((word) => !IDENTIFYING.has(word) && words.has(stem(word)));
}

/** The word of one name that has the first letters of all words of the other one, or of its first ones: `po_number`, `purchaseOrder`. */
export function initialsIn(one: string, other: string): string | undefined {
  const ofWords = (name: string): string =>
    wordsOf(name)
      .map((word) => word.slice(0, 1))
      .join('');
  for (const [short, long] of [
    [one, other],
    [other, one],
  ] as const) {
    const word = wordsOf(short).find((part) => part.length > 1 && !IDENTIFYING.has(part));
    if (word !== undefined && word.length < 5 && ofWords(long).startsWith(word)) return word;
  }
  return undefined;
}

/** Words at the end of the names of days and times that say no more. */
const DAY_WORDS: ReadonlySet<string> = new Set('date day at on'.split(' '));

/** True for the names of a day or time that say the same by other words: `due_on` and `dueDate`. */
export function isSameDay(one: string, other: string): boolean {
  const [first = [], second = []] = [one, other].map((name) =>
    wordsOf(name).filter((word) => !DAY_WORDS.has(word)),
  );
  return first.length > 0 && first.map(stem).join(' ') === second.map(stem).join(' ');
}

/** Minimum letters that two words have in common at the start to be of one root: `departs` and `departure`. */
const ROOT = 5;

/** True if a word of each name has the same root. */
export function haveSameRoot(one: string, other: string): boolean {
  const roots = new Set(wordsOf(other).flatMap((word) => (word.length < ROOT ? [] : [word.slice(0, ROOT)])));
  return wordsOf(one).some((word) => roots.has(word.slice(0, ROOT)));
}

/** Words by the number of their group; words of a group exclude each other. */
const OPPOSITES: ReadonlyMap<string, number> = new Map(
  `start begin end finish|min minimum max maximum|first last|from to until|created updated modified deleted closed|enabled disabled|active inactive
  public private|visible hidden|source target destination|before after|left right|width height length depth|latitude longitude lat lng lon
  buyer seller|sender recipient receiver|debit credit|gross net|previous next|parent child|billing shipping delivery|open close|input output
  home work|day week month year|allowed denied|include exclude|included excluded|owner member|upload download|incoming outgoing|required optional`
    .split('|')
    .flatMap((line, at) =>
      line
        .trim()
        .split(/\s+/)
        .map((word) => [word, at] as const),
    ),
);

/** Two words by which names differ that cannot mean the same, such as `start` and `end`; undefined for none. */
export function oppositesIn(one: string, other: string): readonly [string, string] | undefined {
  const [old, young] = [wordsOf(one), wordsOf(other)];
  for (const word of old) {
    const line = young.includes(word) ? undefined : OPPOSITES.get(word);
    const against = young.find(
      (two) => !old.includes(two) && line !== undefined && OPPOSITES.get(two) === line,
    );
    if (against !== undefined) return [word, against];
  }
  return undefined;
}

/** Words of the names of two numbers that add up to all: what is taken, and what is left. */
const COMPLEMENTS = [
  new Set('taken occupied used booked reserved sold spent consumed'.split(' ')),
  new Set('free left remaining available unused unsold vacant'.split(' ')),
] as const;

/** The words by which the names of two numbers say that each is what the other leaves, such as `free` and `taken`; undefined for none. */
export function complementsIn(one: string, other: string): readonly [string, string] | undefined {
  const [old, young] = [wordsOf(one), wordsOf(other)];
  for (const [words, others] of [COMPLEMENTS, COMPLEMENTS.toReversed()]) {
    const [first, second] = [old.find((word) => words?.has(word)), young.find((word) => others?.has(word))];
    if (first !== undefined && second !== undefined) return [first, second];
  }
  return undefined;
}

/** Words by which the name of a boolean says the contrary: what is hidden is not visible. */
const NEGATIONS: ReadonlySet<string> = new Set(
  `no not non never without suppress suppressed skip skipped disable disabled inactive deactivated archived deleted removed closed hidden hide
  invisible private excluded exclude ignore ignored prevent prevented forbid forbidden deny denied block blocked mute muted silent quiet locked
  optout unsubscribed revoked suspended cancelled canceled rejected expired off omit omitted except anonymous offline
  discontinued retired deprecated obsolete withdrawn unavailable unlisted`.split(/\s+/),
);

/** True if the names of two booleans say the contrary of each other, such as `send_receipt` and `suppressReceipt`. */
export function areContrary(one: string, other: string): boolean {
  const [first, second] = [one, other].map((name) =>
    wordsOf(name.replaceAll(/opt[-_ ]?out/gi, '_optout_')).filter((word) => word !== ''),
  );
  const isNegated = (words: readonly string[] = [], others: readonly string[] = []): boolean => {
    const isOf = (word: string): boolean => {
      const [rest] = /(?<=^(?:un|in|dis|non|de)).{3,}$/.exec(word) ?? [];
      return (
        (NEGATIONS.has(word) && !others.includes(word)) ||
        (rest !== undefined && others.some((two) => two === rest || singular(two) === singular(rest)))
      );
    };
    return words.filter(isOf).length % 2 === 1;
  };
  return isNegated(first, second) !== isNegated(second, first);
}
