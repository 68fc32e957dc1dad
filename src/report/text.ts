import { Prefixes } from '../http/target.ts';
import { NO_KEY } from '../rewrite-log/entry.ts';
import { OperationTable, type RuleBook } from '../rules/rule-book.ts';
import { counted } from '../rules/words.ts';

/**
 * Control and format characters (bidirectional, zero-width, marks), line separators and lone surrogates, which change how text is
 * shown and are not seen themselves.
 */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;
const UNPRINTABLE_BUT_LINES = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/**
 * The clients with these hashes, and a verb: `2 clients use`, `1 client and requests without a key use`. The number of clients without a
 * key is unknown, so they are not counted.
 */
export function countedClients(hashes: Iterable<string>, one = '', many = one): string {
  const all = new Set(hashes);
  const isKeyless = all.delete(NO_KEY);
  const who = isKeyless
    ? `${all.size === 0 ? '' : `${counted(all.size, 'client')} and `}requests without a key`
    : counted(all.size, 'client');
  return `${who} ${all.size === 1 && !isKeyless ? one : many}`.trimEnd();
}

/** What is known about a client beside its hash: its name, or else what its latest `User-Agent` calls it. */
export interface KnownClient {
  readonly client: string;
  readonly name?: string | undefined;
  readonly agent?: string | undefined;
}

/** How a sentence names a client: the clients without a key have no hash. */
export function clientName({ client, name, agent }: KnownClient): string {
  if (name !== undefined) return name;
  if (client === NO_KEY) return 'requests without a key';
  return agent ?? client;
}

/** The same parts of a client, for a row about it. */
export function knownClient({ client, name, agent }: KnownClient): {
  readonly client: string;
  readonly name?: string;
  readonly agent?: string;
} {
  return {
    client,
    ...(name === undefined ? {} : { name }),
    ...(agent === undefined ? {} : { agent }),
  };
}

/**
 * Names at most `most` clients, the first ones, and says how many others there are: `acme, requests without a key and 17 others`. Requests
 * without a key are always named, because the others are a number of clients, as in `countedClients`.
 */
export function namedClients<Client extends Parameters<typeof clientName>[0]>(
  clients: readonly Client[],
  most: number,
  nameOf: (client: Client) => string = clientName,
): string {
  const first = clients.slice(0, most);
  const keyless = clients.slice(most).find(({ client }) => client === NO_KEY);
  const shown = keyless === undefined ? first : [...first.slice(0, most - 1), keyless];
  const more = clients.length - shown.length;
  return shown.map(nameOf).join(', ') + (more > 0 ? ` and ${counted(more, 'other')}` : '');
}

/** The display of a client whose name is looked up by its hash. */
export function nameIn(names: ReadonlyMap<string, string>, client: string): string {
  const name = names.get(client);
  return clientName(name === undefined ? { client } : { client, name });
}

/** A sentence with a capital letter. */
export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** A length of time in whole units, as in `90 minutes`, `47 hours` or `3 days`; the smaller unit where the larger one would be 1. */
export function lengthWords(milliseconds: number): string {
  if (milliseconds < 60_000) return 'less than a minute';
  const minutes = Math.round(milliseconds / 60_000);
  if (minutes < 120) return counted(minutes, 'minute');
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? counted(hours, 'hour') : counted(Math.floor(hours / 24), 'day');
}

/** Milliseconds before the end of a certificate from which operators are warned. */
const CERTIFICATE_MS = 14 * 86_400_000;

/** Says that a certificate of the gateway has ended, or will within two weeks; undefined before. `notAfter` is milliseconds since 1970. */
export function certificateSentence(
  { use, notAfter }: { readonly use: string; readonly notAfter: number },
  now: number,
): string | undefined {
  if (notAfter - now > CERTIFICATE_MS) return undefined;
  const name = use === 'clients' ? 'The certificate for clients' : 'The client certificate for V2';
  const end = new Date(notAfter).toISOString();
  return notAfter <= now
    ? `${name} ended at ${end}: connections fail until its file is renewed.`
    : `${name} ends at ${end}, in ${lengthWords(notAfter - now)}; renew its file, and the running gateway reads it again.`;
}

/** The parts of a rule book that say which operation fits a call. */
export type FittedBook = Pick<RuleBook, 'operations' | 'from' | 'to' | 'alsoFrom'>;

/** Finds the operation of a rule book that fits a call now, which had none before: by its name, and if known by its target. */
export function fittingOperations({
  operations,
  from,
  to,
  alsoFrom,
}: FittedBook): (call: string, target?: string) => string | undefined {
  const table = new OperationTable(operations);
  const prefixes = new Prefixes(from, to, alsoFrom);
  return (call, target) => {
    const [method, path] = call.split(' ');
    if (method === undefined || path === undefined) return undefined;
    const at = target ?? path;
    const prefix = prefixes.find(at);
    const [below = '', query] = at.slice(prefix?.version === 'v1' ? prefix.text.length : 0).split('?', 2);
    return table.match(method, below, query)?.id;
  };
}

/** Prints a Markdown table; its cells are Markdown already (`markdownText`, `markdownCode`). */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [...tableLines(head, rows)].join('\n');
}

/** Generates the lines of a Markdown table; none without rows. */
export function* tableLines(
  head: readonly string[],
  rows: Iterable<readonly string[]>,
): Generator<string, void, undefined> {
  let isFirst = true;
  for (const row of rows) {
    if (isFirst) yield `${line(head)}\n|${' --- |'.repeat(head.length)}`;
    isFirst = false;
    yield line(row);
  }
}

function line(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}

// All printed output passes through the functions below, which make untrusted text (names in bodies, paths, names of clients, lines
// of a log) safe in each format. The page sets text nodes and does not need them.

/** Escapes text for one line of a terminal: it cannot move the cursor, change a colour, reverse the direction or start another line. */
export function terminalText(text: string): string {
  return text.replaceAll(UNPRINTABLE, escaped);
}

/** Escapes text for several lines of a terminal: like `terminalText`, except for line feeds and tabs. */
export function terminalLines(text: string): string {
  return text.replaceAll(UNPRINTABLE_BUT_LINES, escaped);
}

/**
 * Prints a value as JSON. `curl` and `--json` show it on a terminal, where nothing in it moves the cursor or reverses the direction. A
 * parser reads the same value.
 */
export function jsonText(value: unknown, indent?: number): string {
  return terminalLines(JSON.stringify(value, undefined, indent) ?? 'null');
}

/** Escapes text within a line of Markdown, also in a table: no markup, no HTML, no links. */
export function markdownText(text: string): string {
  return terminalText(text)
    .replaceAll(/[\\`*{}[\]()<>#+!|~&@$^"]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])/g, String.raw`\$&`)
    .replaceAll('://', String.raw`\://`)
    .replaceAll(/\bwww\./gi, (www) => `${www.slice(0, 3)}\\.`)
    .replace(/^(?:\d+(?=[.)])|[-=])/, (start) => (/^\d/.test(start) ? `${start}\\` : `\\${start}`));
}

/** Formats code within a line of Markdown, also in a table; plain text if it could break out of a code span. */
export function markdownCode(text: string): string {
  const shown = terminalText(text);
  return shown === '' || /[`\\|]/.test(shown) ? markdownText(text) : `\`${shown}\``;
}

/** Formats a literal Markdown block: its fence is longer than any in the text. */
export function markdownBlock(language: string, text: string): string {
  const longest = Math.max(2, ...Array.from(text.matchAll(/`+/g), ([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}${language}\n${terminalLines(text)}\n${fence}`;
}

/** Escapes text within HTML, also in a quoted attribute: no markup, and no invisible characters. */
export function htmlText(text: string): string {
  return terminalText(text).replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** Like `htmlText`, for several lines. */
export function htmlLines(text: string): string {
  return terminalLines(text).replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** Formats a CSV field (RFC 4180): no spreadsheet reads its text as a formula. */
export function csvField(value: string | number): string {
  if (typeof value === 'number') return String(value);
  const text = terminalText(value);
  const isFormula = /^\s*[=+@|＝＋－＠｜-]./u.test(text);
  const shown = isFormula ? `'${text}` : text;
  return /[",;]/.test(shown) ? `"${shown.replaceAll('"', '""')}"` : shown;
}

/** Escapes as in JSON and YAML, so that text that was quoted before stays valid. */
function escaped(character: string): string {
  let text = '';
  for (let at = 0; at < character.length; at += 1)
    text += `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`;
  return text;
}

/** A share as a percentage, such as `12.5 %`; only nothing is `0 %`, and only all is `100 %`. */
export function percentWords(share: number): string {
  const percent = share * 100;
  if (percent > 0 && percent < 0.1) return '< 0.1 %';
  if (percent > 99.9 && percent < 100) return '> 99.9 %';
  return `${Number(percent.toFixed(1))} %`;
}
