import {
  bodyCheckWords,
  failureWords,
  OUTCOME_WORDS,
  reasonWords,
  requestLine,
  sentToWords,
  statusTone,
  statusWords,
} from '../inspector/entries/entry-words.ts';
import { terminalText } from '../report/text.ts';
import {
  modeOf,
  type Outcome,
  outcomeOf,
  editsByPlace,
  responseEditCount,
  statusFrom,
  type Entry,
} from '../rewrite-log/entry.ts';
import { pad, painter, type Style, type Terminal, widthOf, wrapText } from './terminal.ts';

/** The page's colours, in italics for dry runs. */
const OUTCOME_STYLES: Readonly<Record<Outcome, Style>> = {
  rewritten: 'blue',
  unchanged: 'green',
  refused: 'red',
  passed: 'dim',
  served: 'dim',
  'would-rewritten': ['blue', 'italic'],
  'would-unchanged': ['green', 'italic'],
  'would-refused': ['red', 'italic'],
  'to-v1': 'dim',
};

const STATUS_STYLES = { ok: 'green', fault: 'yellow', failure: 'red' } as const;

/** Digits of a client's hash that are shown. */
const HASH_DIGITS = 6;

/** Width of the column of clients if their names are known. */
const NAME_WIDTH = 18;

const COLUMNS = [
  ['time', 24],
  ['client', HASH_DIGITS],
  ['mode', 7],
  ['sent to', 7],
  ['outcome', 16],
  ['status', 6],
  ['ms', 8],
] as const;

/** Numbers are aligned to the right. */
const RIGHT: ReadonlySet<string> = new Set(['status', 'ms']);
const GAP = '  ';

const NO_NAMES: ReadonlyMap<string, string> = new Map();

/** The header row above entries; with `names`, it has room for them. */
export function entryHead(terminal: Terminal, names: ReadonlyMap<string, string> = NO_NAMES): string {
  return flow(
    COLUMNS.map(([name]) => name),
    'request',
    terminal,
    names,
  );
}

/** Formats an entry as a row with a failure's reason before the request, on several lines if the terminal is narrow. Times are UTC, as in the log. */
export function entryRow(
  entry: Parameters<typeof reasonWords>[0],
  terminal: Terminal,
  names: ReadonlyMap<string, string> = NO_NAMES,
): string {
  const paint = painter(terminal);
  const { time, client, totalMs } = entry;
  const outcome = outcomeOf(entry);
  const cells = [
    paint('dim', terminalText(time.replace('T', ' '))),
    clientCell(client, names),
    paint('dim', terminalText(modeOf(entry) ?? '-')),
    terminalText(sentToWords(entry)),
    paint(OUTCOME_STYLES[outcome] ?? 'dim', terminalText(OUTCOME_WORDS[outcome] ?? outcome)),
    paint(STATUS_STYLES[statusTone(entry)], statusWords(entry)),
    totalMs.toFixed(1),
  ];
  const reason = reasonWords(entry);
  const first = reason === undefined ? '' : `${paint('red', terminalText(reason))}${GAP}`;
  const text = `${first}${terminalText(requestOf(entry))}${paint('dim', terminalText(detailsOf(entry)))}`;
  return flow(cells, text, terminal, names);
}

/** A client's name as far as it fits, or the first digits of its hash. */
function clientCell(client: string | undefined, names: ReadonlyMap<string, string>): string {
  const name = client === undefined ? undefined : names.get(client);
  if (name === undefined) return terminalText(client?.slice(0, HASH_DIGITS) ?? '-');
  const shown = terminalText(name);
  if (widthOf(shown) <= NAME_WIDTH) return shown;
  const characters = Array.from(shown);
  while (widthOf(characters.join('')) >= NAME_WIDTH) characters.pop();
  return `${characters.join('')}…`;
}

function widthIn(name: string, width: number, names: ReadonlyMap<string, string>): number {
  return name === 'client' && names.size > 0 ? NAME_WIDTH : width;
}

/** Puts cells and text on one line, or on as few as fit; the lines after the first are indented. */
function flow(
  cells: readonly string[],
  text: string,
  { columns }: Terminal,
  names: ReadonlyMap<string, string>,
): string {
  const padded = cells.map((cell, at) => {
    const [name, width] = COLUMNS[at] ?? ['', 0];
    return pad(cell, widthIn(name, width, names), RIGHT.has(name));
  });
  const whole = [...padded, text].join(GAP);
  if (columns === undefined || widthOf(whole) <= columns) return whole;
  const lines: string[] = [];
  let line = '';
  for (const cell of padded) {
    const longer = line === '' ? cell : `${line}${GAP}${cell}`;
    if (line === '' || widthOf(longer.trimEnd()) <= columns) line = longer;
    else {
      lines.push(line);
      line = `${GAP}${cell}`;
    }
  }
  const room = columns - widthOf(line) - GAP.length;
  const isShort = widthOf(text) <= room;
  if (isShort) return [...lines, `${line}${GAP}${text}`].map((each) => each.trimEnd()).join('\n');
  const rest = wrapText(text, columns - GAP.length).map((each) => `${GAP}${each.trimStart()}`);
  return [...lines, line, ...rest].map((each) => each.trimEnd()).join('\n');
}

function requestOf(entry: Entry): string {
  const line = requestLine(entry);
  return entry.operation === undefined ? line : `${entry.operation}  ${line}`;
}

function detailsOf(entry: Entry): string {
  const { edits, editsOmitted = 0, note, responseNote, would, upstreamMs, comparison, incomplete } = entry;
  const parts = changeCounts(edits);
  if (editsOmitted > 0) parts.push(`${editsOmitted} more edits`);
  if (responseEditCount(entry) > 0) {
    const { responseEditsOmitted = 0 } = entry;
    const made = changeCounts(editsByPlace(entry));
    if (responseEditsOmitted > 0) made.push(`${responseEditsOmitted} more edits`);
    parts.push(`response: ${made.join(', ')}`);
  }
  // The reason for a failure is already before the request.
  const reason = reasonWords(entry);
  const refusal = would && failureWords(would);
  if (refusal !== undefined && reason !== `would: ${refusal}`) parts.push(`would: ${refusal}`);
  const checked = bodyCheckWords(entry);
  if (checked !== undefined && checked !== reason) parts.push(checked);
  if (note !== undefined) parts.push(note);
  if (responseNote !== undefined) parts.push(responseNote);
  if (incomplete === true) parts.push('incomplete');
  if (comparison !== undefined) parts.push(`compared: ${comparison.verdict}`);
  const from = statusFrom(entry);
  if (upstreamMs !== undefined && (from === 'v1' || from === 'v2'))
    parts.push(`${from.toUpperCase()} ${upstreamMs.toFixed(1)} ms`);
  return parts.length === 0 ? '' : `  ${parts.join(', ')}`;
}

/** The edits' changes, each once with its count: `client-name ×2`. */
function changeCounts(edits: readonly { readonly change: string; readonly note?: string }[]): string[] {
  const counts = new Map<string, number>();
  for (const { change, note } of edits) {
    const name = note === undefined ? change : `${change} (${note})`;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts].map(([name, times]) => (times === 1 ? name : `${name} ×${times}`));
}
