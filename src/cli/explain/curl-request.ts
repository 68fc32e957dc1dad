import { Buffer } from 'node:buffer';
import type { ExplainRequest } from '../../inspector/api.ts';
import { bodyOfBytes } from '../../inspector/explain/explain.ts';

/** Explains in a sentence why a request could not be read. */
interface RequestFault {
  readonly fault: string;
}

/** Options of curl that take a value and do not affect the request. */
const WITH_VALUE: ReadonlySet<string> = new Set(
  (
    '-o --output -A --user-agent -b --cookie -c --cookie-jar -e --referer -x --proxy -m --max-time -w --write-out -E --cert --key ' +
    '--cacert --capath --connect-timeout --retry --retry-delay --retry-max-time --resolve --connect-to --interface -y -Y -z -r ' +
    '--range -D --dump-header --limit-rate --max-redirs --tls-max --ciphers --noproxy --aws-sigv4 --trace --stderr'
  ).split(' '),
);

/** Options that make another request than the rest of the command says. */
const UNSUPPORTED: ReadonlySet<string> = new Set('-G --get -T --upload-file -K --config'.split(' '));

const DATA: ReadonlySet<string> = new Set(
  '-d --data --data-ascii --data-raw --data-binary --json'.split(' '),
);

interface Draft {
  method?: string;
  target?: string;
  headers: [string, string][];
  body?: Uint8Array;
  isJson: boolean;
  isForm: boolean;
}

/** Reads a curl command as browsers and API tools copy it. `readFile` resolves `-d @file`. */
export function readCurl(
  command: string,
  readFile: (path: string) => Uint8Array,
): ExplainRequest | RequestFault {
  const words = shellWords(command);
  if (words === undefined) return { fault: 'The curl command has an unclosed quote.' };
  const [program, ...rest] = words;
  const isCurl = program !== undefined && /(?:^|\/)curl(?:\.exe)?$/.test(program);
  if (program !== undefined && !isCurl && isBareWord(program))
    return { fault: `The command is not curl: it begins with ${program}.` };
  const args = isCurl ? rest : words;
  const draft: Draft = { headers: [], isJson: false, isForm: false };
  for (let at = 0; at < args.length; at += 1) {
    const { option, attached } = splitOption(args[at] ?? '');
    if (option === undefined) {
      draft.target = args[at] ?? '';
      continue;
    }
    if (UNSUPPORTED.has(option))
      return {
        fault: `${option} of the curl command is not supported; give the address with its query, and the body with -d or --data-raw.`,
      };
    if (option === '-I' || option === '--head') draft.method ??= 'HEAD';
    const hasValue = takesValue(option);
    const value = hasValue ? (attached ?? args[(at += 1)]) : undefined;
    if (hasValue && value === undefined) return { fault: `${option} of the curl command has no value.` };
    const fault = value === undefined ? undefined : take(draft, option, value, readFile);
    if (fault !== undefined) return fault;
  }
  return finish(draft);
}

/** A word that is neither an option nor an address: the name of another program. */
function isBareWord(word: string): boolean {
  return word !== 'localhost' && /^\w+$/.test(word);
}

function splitOption(word: string): {
  readonly option: string | undefined;
  readonly attached: string | undefined;
} {
  if (!word.startsWith('-') || word === '-') return { option: undefined, attached: undefined };
  if (word.startsWith('--')) {
    const equals = word.indexOf('=');
    return equals === -1
      ? { option: word, attached: undefined }
      : { option: word.slice(0, equals), attached: word.slice(equals + 1) };
  }
  // Short options may be joined, as in -sXPOST: the first one that takes a value consumes the rest.
  for (let at = 1; at < word.length; at += 1) {
    const option = `-${word[at] ?? ''}`;
    if (takesValue(option) || option === '-I' || UNSUPPORTED.has(option))
      return { option, attached: at + 1 < word.length ? word.slice(at + 1) : undefined };
  }
  return { option: word.slice(0, 2), attached: undefined };
}

function takesValue(option: string): boolean {
  return (
    WITH_VALUE.has(option) ||
    DATA.has(option) ||
    [
      '-X',
      '--request',
      '-H',
      '--header',
      '-u',
      '--user',
      '--url',
      '--oauth2-bearer',
      '--data-urlencode',
      '-F',
      '--form',
    ].includes(option)
  );
}

function take(
  draft: Draft,
  option: string,
  value: string,
  readFile: (path: string) => Uint8Array,
): RequestFault | undefined {
  if (option === '-X' || option === '--request') draft.method = value;
  else if (option === '--url') draft.target = value;
  else if (option === '-H' || option === '--header') {
    const colon = value.indexOf(':');
    if (colon > 0) draft.headers.push([value.slice(0, colon).trim(), value.slice(colon + 1).trim()]);
  } else if (option === '-u' || option === '--user') draft.headers.push(['Authorization', 'Basic …']);
  else if (option === '--oauth2-bearer') draft.headers.push(['Authorization', 'Bearer …']);
  else if (option === '-F' || option === '--form') {
    // What is in a form does not matter: no body is read that is not JSON.
    draft.isForm = true;
    draft.body = Buffer.from('…');
  } else if (DATA.has(option) || option === '--data-urlencode') {
    if (option === '--json') draft.isJson = true;
    const content =
      value.startsWith('@') && option !== '--data-raw'
        ? fileText(value.slice(1), option, readFile)
        : { bytes: Buffer.from(value) };
    if ('fault' in content) return content;
    const joint = Buffer.from(option === '--json' ? '' : '&');
    draft.body = draft.body === undefined ? content.bytes : Buffer.concat([draft.body, joint, content.bytes]);
  }
  return undefined;
}

function fileText(
  path: string,
  option: string,
  readFile: (path: string) => Uint8Array,
): { readonly bytes: Uint8Array } | RequestFault {
  try {
    const bytes = readFile(path);
    const isWhole = option === '--data-binary' || option === '--json';
    return { bytes: isWhole ? bytes : bytes.filter((byte) => byte !== 0x0d && byte !== 0x0a) };
  } catch {
    return { fault: `The curl command sends the file ${path}, which cannot be read.` };
  }
}

function finish({ method, target, headers, body, isJson, isForm }: Draft): ExplainRequest | RequestFault {
  if (target === undefined) return { fault: 'The curl command has no address.' };
  const has = (name: string): boolean => headers.some(([field]) => field.toLowerCase() === name);
  if (isJson && !has('content-type')) headers.push(['Content-Type', 'application/json']);
  if (isForm && !has('content-type')) headers.push(['Content-Type', 'multipart/form-data']);
  // curl's default media type. The gateway leaves such a body untouched, and the explanation says so.
  if (body !== undefined && !has('content-type'))
    headers.push(['Content-Type', 'application/x-www-form-urlencoded']);
  return {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    target: requestTarget(target),
    headers,
    ...(body === undefined ? {} : bodyOfBytes(body)),
  };
}

/**
 * Splits a command into words as a POSIX shell does, with bash's `$'…'`; variables are not expanded. Undefined when a quote is
 * not closed.
 */
export function shellWords(command: string): readonly string[] | undefined {
  const words: string[] = [];
  let word: string | undefined;
  let at = 0;
  while (at < command.length) {
    const character = command[at] ?? '';
    if (/\s/.test(character)) {
      if (word !== undefined) words.push(word);
      word = undefined;
      at += 1;
      continue;
    }
    if (character === '#' && word === undefined) {
      at = endOfLine(command, at);
      continue;
    }
    const part = readPart(command, at);
    if (part === undefined) return undefined;
    // A backslash before a line break joins two lines and does not start a word.
    if (part.text !== '' || part.isQuoted) word = (word ?? '') + part.text;
    at = part.end;
  }
  return word === undefined ? words : [...words, word];
}

interface Part {
  readonly text: string;
  readonly end: number;
  readonly isQuoted: boolean;
}

function readPart(command: string, at: number): Part | undefined {
  const character = command[at] ?? '';
  if (character === "'") return quoted(command, at + 1, "'", (inside) => inside);
  if (character === '"') return quoted(command, at + 1, '"', unescapeDouble);
  if (command.startsWith("$'", at)) return quoted(command, at + 2, "'", unescapeAnsi, true);
  if (character !== '\\') return { text: character, end: at + 1, isQuoted: false };
  const next = /^\\\r?\n/.exec(command.slice(at, at + 3))?.[0];
  if (next !== undefined) return { text: '', end: at + next.length, isQuoted: false };
  return { text: command[at + 1] ?? '', end: at + 2, isQuoted: false };
}

function quoted(
  command: string,
  from: number,
  quote: string,
  read: (inside: string) => string,
  hasEscapes = quote === '"',
): Part | undefined {
  let at = from;
  while (at < command.length && command[at] !== quote) at += hasEscapes && command[at] === '\\' ? 2 : 1;
  if (at >= command.length) return undefined;
  return { text: read(command.slice(from, at)), end: at + 1, isQuoted: true };
}

function unescapeDouble(inside: string): string {
  return inside.replaceAll(/\\(?:\r?\n|(["\\$`]))/g, '$1');
}

const ANSI: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  b: '\b',
  f: '\f',
  v: '\v',
  a: '\u0007',
  e: '\u001B',
};

function unescapeAnsi(inside: string): string {
  return inside.replaceAll(
    /\\(?:x([0-9a-f]{1,2})|u([0-9a-f]{1,4})|([0-7]{1,3})|(.))/gis,
    (_, hex?: string, unicode?: string, octal?: string, plain?: string) => {
      const digits = hex ?? unicode;
      if (digits !== undefined) return String.fromCharCode(Number.parseInt(digits, 16));
      if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8));
      return ANSI[plain ?? ''] ?? plain ?? '';
    },
  );
}

function endOfLine(command: string, at: number): number {
  const feed = command.indexOf('\n', at);
  return feed === -1 ? command.length : feed;
}

/**
 * Returns the request target of an address as people write it, without scheme, host and fragment, which the client handles. A
 * text without a scheme is already a target.
 */
export function requestTarget(address: string): string {
  const full = /^https?:\/\/[^/?#]*([^#]*)/i.exec(address);
  if (full === null) return address;
  const [, target = ''] = full;
  return target.startsWith('/') ? target : `/${target}`;
}
