import { type Document, isMap, isScalar, isSeq, parseDocument, type Pair, type Scalar, visit } from 'yaml';
import type { PlanLines } from '../../inspector/api.ts';
import { lineAfter } from '../../report/line-diff.ts';
import { DEFAULT_LEAD_DAYS, type Plan, PLAN_PREFIX } from '../../report/plan/plan.ts';
import { Zone } from '../../report/plan/zone.ts';
import { instantIn } from '../../rules/declared-rollout.ts';

/** The changes that write a plan into a rule book with this text, the last one first; undefined if that is not written in block style. */
export function planLines(text: string, plan: Plan): readonly PlanLines[] | undefined {
  const book = ended(text);
  const changes = changesOf(book, plan);
  if (changes === undefined) return undefined;
  const { edits, added } = changes;
  return [
    ...(added.length === 0 ? [] : [{ place: 'at the end of the file', added: added.join(''), removed: '' }]),
    ...changedLines(book, edits)
      .toReversed()
      .map((range) => linesOf(book, range))
      .filter(({ added: now, removed }) => now !== removed),
  ];
}

/** The lines of the text that edits change, those that touch each other in one range. */
function changedLines(text: string, edits: readonly TextEdit[]): readonly LineRange[] {
  const ranges: { from: number; until: number; edits: TextEdit[] }[] = [];
  for (const edit of edits.toSorted((one, other) => one.from - other.from)) {
    const from = lineStart(text, edit.from - 1);
    const isInsertion = from === edit.until;
    const until = isInsertion ? from : lineAfter(text, Math.max(from, edit.until - 1));
    const last = ranges.at(-1);
    if (last === undefined || from > last.until) ranges.push({ from, until, edits: [edit] });
    else {
      last.until = Math.max(last.until, until);
      last.edits.push(edit);
    }
  }
  return ranges;
}

interface LineRange {
  readonly from: number;
  readonly until: number;
  readonly edits: readonly TextEdit[];
}

function linesOf(text: string, { from, until, edits }: LineRange): PlanLines {
  const removed = text.slice(from, until);
  const here = edits.map((edit) => ({ ...edit, from: edit.from - from, until: edit.until - from }));
  const first = lineCount(text.slice(0, from)) + 1;
  const last = lineCount(text.slice(0, until));
  const place =
    removed === ''
      ? `after line ${last}`
      : `in place of ${first === last ? `line ${first}` : `lines ${first} to ${last}`}`;
  return { place, added: applied(removed, here), removed };
}

function lineCount(text: string): number {
  return text.split('\n').length - 1;
}

/**
 * Adds a plan to the text of a rule book: deprecation, the time of the sunset, and the brownouts, which replace those of an earlier plan.
 * Every other line stays, with its comments. Undefined if the text is not written in block style.
 */
export function withPlan(text: string, plan: Plan): string | undefined {
  const book = ended(text);
  const changes = changesOf(book, plan);
  if (changes === undefined) return undefined;
  const { edits, added } = changes;
  return applied(book, edits) + (added.length === 0 ? '' : `${separator(book)}${added.join('')}`);
}

function ended(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}

/** What a plan changes in the text of a rule book: edits, and lines at its end. */
interface BookChanges {
  readonly edits: readonly TextEdit[];
  readonly added: readonly string[];
}

function changesOf(book: string, plan: Plan): BookChanges | undefined {
  const document: Document = parseDocument(book, { version: '1.2', schema: 'core', stringKeys: true });
  const { contents } = document;
  if (!isMap(contents) || contents.flow === true) return undefined;
  const edits: TextEdit[] = [];
  const added: string[] = [];
  const find = (key: string): Pair | undefined =>
    contents.items.find(({ key: name }) => isScalar(name) && name.value === key);
  const zone = new Zone(plan.zone);
  const inZone = (at: number): string => ` # ${zone.text(at)} ${plan.zone}`;
  // A gateway elsewhere would otherwise count days by the clock of its own machine. It would move days that the book has without one.
  if (find('zone') === undefined && plan.zone !== 'UTC' && !hasDay(document))
    added.push(`zone: ${plan.zone}\n`);
  if (find('deprecation') === undefined)
    added.push(`deprecation: ${timeText(plan.deprecation, zone)}${inZone(plan.deprecation)}\n`);
  const zoneOfBook = document.get('zone');
  const isSunset = ({ value }: Scalar): boolean =>
    instantIn(typeof zoneOfBook === 'string' ? zoneOfBook : undefined, String(value)) === plan.sunset;
  const lead = plan.leadDays === DEFAULT_LEAD_DAYS ? '' : `, lead: ${plan.leadDays}`;
  const sunset = find('sunset');
  if (sunset === undefined)
    added.push(
      `sunset: { at: ${timeText(plan.sunset, zone)}, after: ${plan.gone === undefined ? 'serve' : 'gone'}${lead} }${inZone(plan.sunset)}${plan.gone === undefined ? '' : '; after: serve only announces it'}\n`,
    );
  else if (isMap(sunset.value)) {
    const at = sunset.value.get('at', true);
    if (!isScalar(at) || (!isSunset(at) && !replaceNode(edits, at, timeText(plan.sunset, zone))))
      return undefined;
    const old = sunset.value.get('lead', true);
    if (isScalar(old)) replaceNode(edits, old, String(plan.leadDays));
    else if (lead !== '') {
      const end = at.range?.[1];
      const { flow } = sunset.value;
      if (end === undefined) return undefined;
      const indent = ' '.repeat(columnOf(book, sunset.value.range?.[0] ?? 0));
      edits.push({
        from: end,
        until: end,
        insert: flow === true ? lead : `\n${indent}lead: ${plan.leadDays}`,
      });
    }
  } else if (
    !isScalar(sunset.value) ||
    (!(lead === '' && isSunset(sunset.value)) &&
      !replaceNode(
        edits,
        sunset.value,
        lead === ''
          ? timeText(plan.sunset, zone)
          : `{ at: ${timeText(plan.sunset, zone)}, after: serve${lead} }`,
      ))
  )
    return undefined;
  const brownouts = find('brownouts');
  // Existing brownouts are better than none.
  if (plan.brownouts.length === 0) return { edits, added };
  if (brownouts === undefined) added.push(`brownouts:\n${brownoutLines(plan, '  ')}`);
  else {
    const list = brownouts.value;
    if (!isSeq(list) || list.range === null || list.range === undefined) return undefined;
    if (list.items.length === 0) {
      // Written as `[]`.
      edits.push({
        from: list.range[0],
        until: list.range[1],
        insert: `\n${brownoutLines(plan, '  ').trimEnd()}`,
      });
    } else {
      if (list.flow === true) return undefined;
      const indent = ' '.repeat(columnOf(book, book.lastIndexOf('-', startOf(list.items[0]) ?? 0)));
      let end: number | undefined;
      for (const item of list.items) {
        const start = startOf(item);
        if (!isMap(item) || start === undefined || item.range === null || item.range === undefined)
          return undefined;
        const from = lineStart(book, book.lastIndexOf('-', start));
        end = lineAfter(book, item.range[1] - 1);
        const id = item.get('id');
        if (typeof id === 'string' && id.startsWith(PLAN_PREFIX))
          edits.push({ from, until: end, insert: '' });
      }
      if (end === undefined) return undefined;
      edits.push({ from: end, until: end, insert: brownoutLines(plan, indent) });
    }
  }
  return { edits, added };
}

/** The keys of a rule book whose values are days or times. */
const DATE_KEYS: ReadonlySet<string> = new Set(['deprecation', 'since', 'sunset', 'at', 'from', 'until']);

/** Whether a day without a time stands in a rule book: without `zone`, it begins at midnight UTC. */
function hasDay(document: Document): boolean {
  let found = false;
  visit(document, {
    Pair: (_, { key, value }) => {
      const isDate = isScalar(key) && isScalar(value) && DATE_KEYS.has(String(key.value));
      found ||= isDate && /^\d{4}-\d\d-\d\d$/.test(String(value.value));
    },
  });
  return found;
}

interface TextEdit {
  readonly from: number;
  readonly until: number;
  readonly insert: string;
}

function applied(text: string, edits: readonly TextEdit[]): string {
  let result = '';
  let at = 0;
  for (const { from, until, insert } of edits.toSorted((one, other) => one.from - other.from)) {
    result += text.slice(at, from) + insert;
    at = until;
  }
  return result + text.slice(at);
}

function separator(text: string): string {
  return text === '' || text.endsWith('\n\n') ? '' : '\n';
}

function replaceNode(
  edits: TextEdit[],
  { range }: { readonly range?: readonly [number, number, number] | null | undefined },
  insert: string,
): boolean {
  if (range === undefined || range === null) return false;
  edits.push({ from: range[0], until: range[1], insert });
  return true;
}

function startOf(item: unknown): number | undefined {
  return isMap(item) ? item.range?.[0] : undefined;
}

function lineStart(text: string, at: number): number {
  return text.lastIndexOf('\n', at) + 1;
}

function columnOf(text: string, at: number): number {
  return at - lineStart(text, at - 1);
}

/** One line for each brownout, with its weekday in a comment. */
function brownoutLines({ brownouts, zone: name }: Plan, indent: string): string {
  const zone = new Zone(name);
  return brownouts
    .map(({ id, from, until, clients, except }) => {
      const scope = [
        clients === undefined ? '' : `, clients: [${clients.map(quoted).join(', ')}]`,
        except === undefined ? '' : `, except: [${except.map(quoted).join(', ')}]`,
      ].join('');
      return `${indent}- { id: ${id}, from: ${timeText(from, zone)}, until: ${timeText(until, zone)}${scope} } # ${zone.text(from)} ${name}\n`;
    })
    .join('');
}

/** Quotes a hash, since one such as 1234567890123456 would be a number. */
function quoted(hash: string): string {
  return `'${hash}'`;
}

/** A time by the clock of the plan's zone, so that a person who moves it need not count in UTC: `2027-01-12T09:00:00+01:00`. */
function timeText(at: number, zone: Zone): string {
  const minutes = Math.round((zone.local(at) - at) / 60_000);
  if (minutes === 0) return new Date(at).toISOString().replace('.000Z', 'Z');
  const local = new Date(at + minutes * 60_000).toISOString().slice(0, 19);
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  const two = (part: number): string => String(part).padStart(2, '0');
  return `${local}${minutes < 0 ? '-' : '+'}${two(hours)}:${two(rest)}`;
}
