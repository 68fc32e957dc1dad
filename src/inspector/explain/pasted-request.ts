import { readCurlCommand, readAddress, type NamedRequest, type ReadRequests } from './curl-command.ts';
import {
  bytesOf,
  CURL,
  joinedPairs,
  outputOf,
  powerShellString,
  readBash,
  readCmd,
  readPowerShell,
  type ReadFile,
  type ShellCommand,
  type ShellFault,
  textOf,
} from './shell-words.ts';

/** Forms of a request that are not read, by how they begin, with a name for each. */
const OTHER_FORMS: readonly (readonly [RegExp, string])[] = [
  [/^(?:const |let |var |await |return )*(?:\w+ = )?(?:await )?axios[.(]/, 'a call to axios'],
  [/^\$\.(?:ajax|get|post)\(/, 'a call to jQuery'],
  [/^(?:import requests|requests\.\w+\(|\w+ = requests\.)/, 'a script for Python’s requests'],
  [/^(?:var|const|let) \w+ = new XMLHttpRequest/, 'a script with XMLHttpRequest'],
  [/^(?:package main|import \()/, 'a program in Go'],
  [/^[*>] \S/, 'the output of curl -v'],
  [/^<\?php|^\$(?:curl|ch|client) = /, 'a script in PHP'],
  [/^for\s+(?:\/[a-z]\s+)*%%?\w/i, 'a loop of cmd.exe'],
];

const HOW =
  'Copy it as cURL (browsers: Network, Copy, Copy as cURL), or give --method, --target and the body.';

/** Words before a command that do not affect its request. */
const PREFIXES: ReadonlySet<string> = new Set('$ % > ! { then do else if while until noglob'.split(' '));

/**
 * Reads the requests in a pasted text: curl commands for bash, cmd.exe and PowerShell, `fetch(…)`, `Invoke-WebRequest`, and the text
 * of an HTTP/1.1 request. Any other text gives a fault. `readFile` resolves the files that a command sends.
 */
export function readPasted(text: string, readFile: ReadFile): ReadRequests {
  const trimmed = withoutPrompts(withoutFence(text.replace(/^\uFEFF/, '').trim()));
  if (FETCH.test(trimmed)) return readFetches(trimmed);
  if (isPowerShellRequest(trimmed)) return readWebRequest(trimmed);
  const message = trimmed.replace(/^(?:(?:#|\/\/).*\r?\n\s*)+(?=[A-Z]+ \S)/, '');
  if (MESSAGE.test(message)) return readMessage(message);
  const other = OTHER_FORMS.find(([form]) => form.test(trimmed));
  if (other !== undefined) return unread(`This is ${other[1]}, which is not read. ${HOW}`);
  if (/\bfetch\s*\(/.test(trimmed) && !trimmed.includes('curl'))
    return unread(`This is a program around a call to fetch, which is not read. ${HOW}`);
  const commands = dialectOf(trimmed)(trimmed, readFile);
  if ('fault' in commands) return unread(commands.fault);
  return readCommands(commands, readFile);
}

const FETCH =
  /^(?:export )?(?:(?:const|let|var) )?(?:[\w.]+ = )?(?:return )?(?:await )?(?:(?:window|globalThis|self)\.)?fetch\s*\(/;

/** The first line of a request in developer tools or, without a version, in editors. */
const MESSAGE =
  /^(?:[A-Z]+ \S+ HTTP\/\d|(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS) (?:https?:\/)?\/\S*[ \t]*(?:\r?\n|$))/;

/** Removes the prompts of terminals on Windows and Linux, which other shells would read as words. */
function withoutPrompts(text: string): string {
  return text.replaceAll(
    /^(?:(?:PS )?[A-Za-z]:\\[^<>|\n]*>|\[?[\w.-]+@[^$#%\n]*[$#%])[ \t]*(?=curl(?:\.exe)?\s)/gm,
    '',
  );
}

/** Removes the lines of three backquotes around a text from documentation. */
function withoutFence(text: string): string {
  const end = text.indexOf('\n');
  return text.startsWith('```') && text.endsWith('```') && end !== -1 ? text.slice(end, -3).trim() : text;
}

function unread(fault: string): ReadRequests {
  return { requests: [], faults: [{ name: 'The request', fault }], notes: [] };
}

/** Recognises, by marks that no other shell's copy has, the shell for which a curl command was copied. */
function dialectOf(text: string): (text: string, readFile: ReadFile) => readonly ShellCommand[] | ShellFault {
  const single = text.indexOf("'");
  const before = single === -1 ? text : text.slice(0, single);
  if (/\^(?:["&]|%\^|\r?\n)/.test(before)) return readCmd;
  // Proxies that print for cmd.exe combine its line ends with the quotes of bash.
  if (/'[ \t]*\^\r?\n/.test(text))
    return (given, readFile) => readBash(given.replaceAll(/\^\r?\n/g, '\\\n'), readFile);
  // Firefox doubled each quote, which between quotes of bash would vanish.
  if (before.includes('"') && /[{[:,]\s?""[^"\s,}\]]/.test(text)) return readCmd;
  // Only to PowerShell are `{`"a`":1}` and `'{\"a\":1}'` JSON.
  const isPowerShell = /`\r?\n|[{[,:]\s?`"|'\s*[{[]\s*\\"/.test(text);
  return isPowerShell ? readPowerShell : readBash;
}

/** Maximum nested shells, such as `bash -c` and `eval`. */
const MAX_SHELLS = 16;

function readCommands(commands: readonly ShellCommand[], readFile: ReadFile, shells = 0): ReadRequests {
  if (shells > MAX_SHELLS)
    return unread(`The command has more than ${MAX_SHELLS} nested shells: paste the innermost command.`);
  const reads: ReadRequests[] = [];
  let others = '';
  let around: string | undefined;
  let piped: ShellCommand['stdin'];
  for (const given of commands) {
    const command = piped === undefined || given.stdin !== undefined ? given : { ...given, stdin: piped };
    piped = given.operator === '|' ? outputOf([command], readFile) : undefined;
    const words = [...command.words];
    if (words[0]?.bytes === 'function' && words[2]?.bytes === '{') words.splice(0, 2);
    while (isPrefix(words[0]?.bytes ?? '') && words.length > 1) words.shift();
    const curl = WRAPPERS.has(words[0]?.bytes ?? '') ? words.findIndex(({ bytes }) => CURL.test(bytes)) : -1;
    if (curl > 0) words.splice(0, curl);
    const program = textOf(words[0]?.bytes ?? '');
    const script = scriptOf(words);
    const inside = script === undefined ? undefined : readBash(script, readFile);
    if (inside !== undefined && !('fault' in inside))
      reads.push(readCommands(withInput(inside, command.stdin), readFile, shells + 1));
    else if (CURL.test(program)) {
      reads.push(readCurlCommand({ ...command, words }, readFile));
      if (command.operator === '&' && words.at(-1)?.bytes.includes('?') === true)
        reads.push({
          requests: [],
          faults: [],
          notes: ['In a shell, & ends the command: put an address with & in quotes.'],
        });
    } else if (program.startsWith('-') && reads.length > 0)
      return unread(
        `A line begins with ${program}, which is a command of its own to a shell: the backslash before it must be the last character of its line.`,
      );
    else {
      if (others === '') others = program;
      if (words.some(({ bytes }, at) => at > 0 && CURL.test(bytes))) around ??= program;
    }
  }
  if (reads.length === 0)
    return unread(
      others === ''
        ? 'There is no command.'
        : around !== undefined
          ? `curl is an argument of ${around}, which is not run: paste the curl command itself, with its values.`
          : /[\u00a0\u2000-\u200b\u202f\u3000]/.test(others)
            ? `The command has a space that shells do not recognise, perhaps from a word processor (${visibleSpaces(others)}): type it again.`
            : isAddress(others)
              ? `The command is not curl: it begins with ${others}. Write curl before it.`
              : `The command is not curl: it begins with ${others}. ${HOW}`,
    );
  return {
    requests: reads.flatMap(({ requests }) => requests),
    faults: reads.flatMap(({ faults }) => faults),
    notes: [...new Set(reads.flatMap(({ notes }) => notes))],
  };
}

/** The commands of a shell with its standard input, which goes to each one without another input. */
function withInput(commands: readonly ShellCommand[], stdin: ShellCommand['stdin']): readonly ShellCommand[] {
  if (stdin === undefined) return commands;
  return commands.map((command, at) =>
    command.stdin === undefined && commands[at - 1]?.operator !== '|' ? { ...command, stdin } : command,
  );
}

/** The beginning of a text, with the code points of unusual spaces. */
function visibleSpaces(text: string): string {
  return text
    .slice(0, 40)
    .replaceAll(
      /[\u00a0\u2000-\u200b\u202f\u3000]/g,
      (space) => `[U+${space.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}]`,
    );
}

/** Programs that run the command after their own options. */
const WRAPPERS: ReadonlySet<string> = new Set(
  'time env sudo doas nohup timeout nice ionice stdbuf watch docker podman kubectl strace exec command'.split(
    ' ',
  ),
);

/** The text that `bash -c` and `eval` run, without its quotes. */
function scriptOf(words: ShellCommand['words']): string | undefined {
  const [program, flags, script] = words.map(({ bytes }) => textOf(bytes));
  if (program === 'eval')
    return words
      .slice(1)
      .map(({ bytes }) => textOf(bytes))
      .join(' ');
  const isShell = /^(?:\S*\/)?(?:ba|z|da|k)?sh$/.test(program ?? '') && /^-\w*c$/.test(flags ?? '');
  return isShell ? script : undefined;
}

function isPrefix(word: string): boolean {
  return PREFIXES.has(word) || /^[A-Za-z_]\w*=/.test(word) || /^(?:PS )?[A-Z]:\\[^>]*>$/.test(word);
}

function isAddress(word: string): boolean {
  return word.startsWith('-') || /^(?:https?:)?\//.test(word);
}

function readMessage(text: string): ReadRequests {
  const lines = text.replaceAll('\r\n', '\n');
  const end = lines.indexOf('\n\n');
  const [first = '', ...fields] = (end === -1 ? lines : lines.slice(0, end)).split('\n');
  const [method = '', target = ''] = first.trim().split(' ');
  const wrong = fields.find((line) => !line.includes(':'));
  if (wrong !== undefined)
    return unread(`The line ${JSON.stringify(wrong)} of the request is not a header field.`);
  const headers = fields.map((line): [string, string] => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon), line.slice(colon + 1).trim()];
  });
  const body = end === -1 ? '' : lines.slice(end + 2);
  return requestOf({ method, address: target, headers, body: body === '' ? undefined : body });
}

interface Plain {
  readonly method: string;
  readonly address: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: string | undefined;
}

function requestOf({ method, address, headers, body }: Plain, notes: readonly string[] = []): ReadRequests {
  const read = readAddress(address, { isPathAsIs: true });
  if (typeof read === 'string') return unread(read);
  const target = read.path + (read.query === undefined ? '' : `?${read.query}`);
  const request: NamedRequest = {
    name: `${method} ${target}`,
    request: { method, target, headers, ...(body === undefined ? {} : { body }) },
  };
  return { requests: [request], faults: [], notes };
}

/** Reads every `fetch("…", {…})`, since browsers can also copy all requests of a page. */
function readFetches(text: string): ReadRequests {
  const reads: ReadRequests[] = [];
  for (let rest = text; FETCH.test(rest);) {
    const { read, end } = readFetch(rest);
    reads.push(read);
    const statements = rest.slice(end).split(/(?<=[\n;])/);
    const next = statements.findIndex((statement) => FETCH.test(statement.trimStart()));
    rest = next === -1 ? '' : statements.slice(next).join('').trimStart();
  }
  return {
    requests: reads.flatMap(({ requests }) => requests),
    faults: reads.flatMap(({ faults }) => faults),
    notes: reads.flatMap(({ notes }) => notes),
  };
}

/** Reads a call as copied from a browser, also for Node.js, or written with plain values; `end` is the place behind it. */
function readFetch(text: string): { readonly read: ReadRequests; readonly end: number } {
  const reader = new LiteralReader(text, FETCH.exec(text)?.[0].length ?? 0);
  const read = readCall(reader);
  return { read, end: reader.at };
}

function readCall(reader: LiteralReader): ReadRequests {
  const address = reader.value();
  const options = reader.takes(',') && !reader.isAt(')') ? reader.value() : new Map<string, unknown>();
  reader.takes(',');
  if (reader.hasFailed || typeof address !== 'string' || !(options instanceof Map) || !reader.takes(')'))
    return unread(
      `This is a call to fetch whose arguments are not all plain values (${reader.place()}). Write them out, or copy it as cURL.`,
    );
  const get = (name: string): unknown => options.get(name);
  const given = get('headers');
  const headers = fieldsOf(given);
  if (headers === undefined)
    return unread('The headers of the call to fetch are not plain values: write them as an object.');
  const body = get('body');
  if (body !== undefined && body !== null && typeof body !== 'string')
    return unread(
      'The body of the call to fetch is not a text: write it as a string, or in JSON.stringify(…).',
    );
  const method = typeof get('method') === 'string' ? String(get('method')) : 'GET';
  // fetch changes only these to upper case (Fetch §2.2.1), and not patch.
  const normal = /^(?:delete|get|head|options|post|put)$/i.test(method) ? method.toUpperCase() : method;
  if (typeof body === 'string' && /^(?:GET|HEAD)$/.test(normal))
    return unread(`fetch sends no ${normal} with a body: remove the body, or choose another method.`);
  const url = URL.parse(address, 'http://host');
  if (url === null) return unread(`fetch does not take ${address} as an address.`);
  const hasType = headers.some(([name]) => name.toLowerCase() === 'content-type');
  if (typeof body === 'string' && !hasType) headers.push(['Content-Type', 'text/plain;charset=UTF-8']);
  // Like a browser, resolves dot segments and escapes invalid characters.
  const sent = `http://host${url.pathname}${url.search}`;
  if (!/^https?:$/.test(url.protocol)) return unread(`${address} is not an HTTP address.`);
  return requestOf({ method: normal, address: sent, headers, body: body ?? undefined });
}

/** The fields of an object, or of a list of pairs (Fetch, HeadersInit); undefined for anything else. */
function fieldsOf(given: unknown): [string, string][] | undefined {
  if (given === undefined || given === null) return [];
  const pairs: readonly unknown[] =
    given instanceof Map ? [...given] : Array.isArray(given) ? given : [given];
  const fields = pairs.flatMap((pair): [string, string][] =>
    Array.isArray(pair) && pair.length === 2 ? [[String(pair[0]), String(pair[1])]] : [],
  );
  return fields.length === pairs.length ? fields : undefined;
}

/** Maximum nested values, since deeper ones could exhaust the stack. */
const MAX_LEVELS = 512;

/**
 * Reads literals of JavaScript: strings in any quotes without `${…}`, numbers, arrays, objects (as maps) and `JSON.stringify(…)` of them.
 */
class LiteralReader {
  hasFailed = false;
  readonly #text: string;
  #at: number;
  #depth = 0;

  constructor(text: string, at: number) {
    this.#text = text;
    this.#at = at;
  }

  get at(): number {
    return this.#at;
  }

  place(): string {
    const rest = this.#text.slice(this.#at, this.#at + 30).split('\n', 1)[0] ?? '';
    return rest === '' ? 'it ends too early' : `at ${rest}`;
  }

  isAt(mark: string): boolean {
    this.#skip();
    return this.#text.startsWith(mark, this.#at);
  }

  takes(mark: string): boolean {
    const is = this.isAt(mark);
    if (is) this.#at += mark.length;
    return is;
  }

  value(): unknown {
    if (this.#depth >= MAX_LEVELS) return this.#fail();
    this.#depth += 1;
    const value = this.#valueHere();
    this.#depth -= 1;
    return value;
  }

  #valueHere(): unknown {
    this.#skip();
    const character = this.#text[this.#at] ?? '';
    if (character === '"' || character === "'" || character === '`') return this.#string(character);
    if (character === '{') return this.#object();
    if (character === '[') return this.#array();
    const word =
      /^(?:JSON\.stringify\(|new Headers\(|null|undefined|true|false|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)/.exec(
        this.#text.slice(this.#at, this.#at + 64),
      )?.[0];
    if (word === undefined) return this.#fail();
    this.#at += word.length;
    if (!word.endsWith('(')) return word === 'undefined' ? undefined : new LiteralNumber(word).value();
    const inside = this.value();
    if (word === 'JSON.stringify(' && this.takes(',')) {
      this.value();
      if (this.takes(',')) this.value();
    }
    if (!this.takes(')')) return this.#fail();
    return word === 'JSON.stringify(' ? printJson(inside) : inside;
  }

  #fail(): undefined {
    this.hasFailed = true;
    return undefined;
  }

  #skip(): void {
    for (;;) {
      while (/[\s;]/.test(this.#text[this.#at] ?? '')) this.#at += 1;
      if (!this.#text.startsWith('//', this.#at)) return;
      const feed = this.#text.indexOf('\n', this.#at);
      this.#at = feed === -1 ? this.#text.length : feed;
    }
  }

  #string(quote: string): string | undefined {
    let end = this.#at + 1;
    while (end < this.#text.length && this.#text[end] !== quote) end += this.#text[end] === '\\' ? 2 : 1;
    const inside = this.#text.slice(this.#at + 1, end);
    if (end >= this.#text.length || (quote === '`' && inside.includes('${'))) return this.#fail();
    this.#at = end + 1;
    return inside.replaceAll(
      /\\(?:u\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(\r?\n)|(.))/gs,
      (_, braced?: string, u?: string, x?: string, feed?: string, plain = '') => {
        const code = braced ?? u ?? x;
        if (code !== undefined)
          return braced === undefined ? unit(code) : String.fromCodePoint(pointOf(code));
        return feed === undefined ? (ESCAPES[plain] ?? plain) : '';
      },
    );
  }

  #object(): Map<string, unknown> | undefined {
    const members = new Map<string, unknown>();
    this.#at += 1;
    while (!this.hasFailed && !this.takes('}')) {
      this.#skip();
      const name = /^[A-Za-z_$][\w$]*/.exec(this.#text.slice(this.#at, this.#at + 256))?.[0];
      if (name !== undefined) this.#at += name.length;
      const key = name ?? this.value();
      if (typeof key !== 'string' || !this.takes(':')) return this.#fail();
      members.set(key, this.value());
      if (!this.takes(',') && !this.isAt('}')) return this.#fail();
    }
    return members;
  }

  #array(): unknown[] | undefined {
    const elements: unknown[] = [];
    this.#at += 1;
    while (!this.hasFailed && !this.takes(']')) {
      elements.push(this.value());
      if (!this.takes(',') && !this.isAt(']')) return this.#fail();
    }
    return elements;
  }
}

const ESCAPES: Readonly<Record<string, string>> = {
  n: '\n',
  r: '\r',
  t: '\t',
  b: '\b',
  f: '\f',
  v: '\v',
  '0': '\0',
};

function unit(hex: string): string {
  return String.fromCharCode(Number.parseInt(hex, 16));
}

function pointOf(hex: string): number {
  return Math.min(Number.parseInt(hex, 16), 0x10ffff);
}

/** `null`, a boolean, or a number with the text that it has. */
class LiteralNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  value(): unknown {
    return this.text === 'null' ? null : this;
  }

  toString(): string {
    return this.text;
  }
}

/** Prints literals as `JSON.stringify` would; numbers keep their text. */
function printJson(value: unknown): string {
  if (value instanceof Map)
    return `{${[...value]
      .filter(([, inside]) => inside !== undefined)
      .map(([name, inside]) => `${JSON.stringify(name)}:${printJson(inside)}`)
      .join(',')}}`;
  if (Array.isArray(value)) return `[${value.map((inside: unknown) => printJson(inside ?? null)).join(',')}]`;
  return value instanceof LiteralNumber ? value.text : JSON.stringify(value ?? null);
}

const CMDLET = /(?:^|[\s(=;|])(?:Invoke-WebRequest|Invoke-RestMethod|iwr|irm)\s/i;

/** In Windows PowerShell, `curl` is an alias of the cmdlet, recognised by its parameters. */
function isPowerShellRequest(text: string): boolean {
  return (
    (CMDLET.test(text) && !/^\s*curl(?:\.exe)?\s/i.test(text)) ||
    /^\s*curl\s[^'"]*-(?:Uri|Headers|Method|Body)\s/i.test(text)
  );
}

/** Reads `Invoke-WebRequest` as copied from a browser, or written with plain values. */
function readWebRequest(text: string): ReadRequests {
  const source = bytesOf(text.replaceAll('\r\n', '\n'));
  const parts = new ScriptParts(source);
  const cmdlet = /(?:^|[\s(=;|])(?:Invoke-WebRequest|Invoke-RestMethod|iwr|irm|curl)\s/i.exec(source);
  const from = cmdlet === null ? 0 : cmdlet.index + cmdlet[0].length;
  const agent = parts.stringBehind('.UserAgent', 0);
  const found = parts.parameters(from);
  if (typeof found === 'string') return unread(found);
  const cookies = parts.cookies(from);
  if (cookies === undefined)
    return unread(
      'A cookie of the PowerShell session is not a plain value. Write it out in quotes, or copy it as cURL.',
    );
  const headers = [...found.headers];
  const add = (name: string, value: string | undefined): void => {
    if (value !== undefined && !headers.some(([known]) => known.toLowerCase() === name.toLowerCase()))
      headers.push([name, value]);
  };
  add('Content-Type', found.values.get('contenttype'));
  add('User-Agent', found.values.get('useragent') ?? agent);
  add('Cookie', cookies.length === 0 ? undefined : cookies.join('; '));
  const address = found.values.get('uri');
  if (address === undefined)
    return unread('The PowerShell command has no address: give it after -Uri, in quotes.');
  const body = found.values.get('body');
  const method = (found.values.get('method') ?? found.values.get('custommethod') ?? 'GET').toUpperCase();
  // PowerShell's default for a body.
  if (body !== undefined) add('Content-Type', 'application/x-www-form-urlencoded');
  return requestOf({ method, address, headers, body });
}

class ScriptParts {
  readonly #source: string;

  constructor(source: string) {
    this.#source = source;
  }

  /** The string that is assigned to a name. */
  stringBehind(name: string, from: number): string | undefined {
    const at = this.#source.indexOf(name, from);
    const equals = at === -1 ? -1 : this.#source.indexOf('=', at);
    const read = equals === -1 ? undefined : powerShellString(this.#source, this.#skip(equals + 1));
    return typeof read === 'object' ? textOf(joinedPairs(read.bytes)) : undefined;
  }

  /** The session's cookies that are set before `end`, as `name=value`; undefined where one is not a plain value. */
  cookies(end: number): readonly string[] | undefined {
    const cookies: string[] = [];
    const made = 'System.Net.Cookie(';
    for (
      let at = this.#source.indexOf(made);
      at !== -1 && at < end;
      at = this.#source.indexOf(made, at + 1)
    ) {
      const name = powerShellString(this.#source, this.#skip(at + made.length));
      if (typeof name !== 'object' || name.unknown.length > 0) return undefined;
      const comma = this.#source.indexOf(',', name.end);
      const value = comma === -1 ? undefined : powerShellString(this.#source, this.#skip(comma + 1));
      if (typeof value !== 'object' || value.unknown.length > 0) return undefined;
      cookies.push(`${textOf(joinedPairs(name.bytes))}=${textOf(joinedPairs(value.bytes))}`);
    }
    return cookies;
  }

  #skip(from: number): number {
    let at = from;
    while (/[\s`]/.test(this.#source[at] ?? '')) at += 1;
    return at;
  }

  /** The parameters of a cmdlet, by their names in lower case; a sentence where one is not a plain value. */
  parameters(
    from: number,
  ):
    | { readonly values: ReadonlyMap<string, string>; readonly headers: readonly [string, string][] }
    | string {
    const values = new Map<string, string>();
    let headers: readonly [string, string][] = [];
    let at = from;
    let name = '';
    for (;;) {
      while (/[ \t]/.test(this.#source[at] ?? '') || this.#source.startsWith('`\n', at))
        at += this.#source[at] === '`' ? 2 : 1;
      const character = this.#source[at] ?? '';
      if (character === '' || '\n;|)'.includes(character)) return { values, headers };
      const parameter = /^-([A-Za-z]+):?/.exec(this.#source.slice(at, at + 64));
      if (parameter !== null) {
        const written = parameter[1] ?? '';
        const known = parameterNamed(written);
        if (known === undefined)
          return `This is a PowerShell command with -${written}, which is not read: leave it out, or copy it as cURL.`;
        name = known;
        at += parameter[0].length;
        if (SWITCHES.has(name)) {
          if (/^\$(?:true|false)/i.test(this.#source.slice(at, at + 6))) at = this.#endOfValue(at);
          name = '';
        }
        continue;
      }
      const end = this.#endOfValue(at);
      if (name === 'headers' && this.#source.startsWith('@{', at)) {
        const table = this.#table(at + 2);
        if (table === undefined) return notPlain(name, this.#source.slice(at, at + 40));
        ({ headers, end: at } = table);
      } else {
        const read = this.#value(at, end);
        const isNeeded =
          name === '' || ['uri', 'method', 'custommethod', 'body', 'contenttype', 'headers'].includes(name);
        if (read === undefined && isNeeded) return notPlain(name, this.#source.slice(at, end));
        if (read !== undefined) values.set(name === '' ? 'uri' : name, read);
        at = end;
      }
      name = '';
    }
  }

  #endOfValue(from: number): number {
    let [at, depth] = [from, 0];
    while (at < this.#source.length) {
      const text = powerShellString(this.#source, at);
      if (typeof text === 'object') {
        at = text.end;
        continue;
      }
      const character = this.#source[at] ?? '';
      if (depth === 0 && /[\s;|]/.test(character)) break;
      if ('({'.includes(character)) depth += 1;
      if (')}'.includes(character)) {
        if (depth === 0) break;
        depth -= 1;
      }
      at += 1;
    }
    return at;
  }

  /** A string, a bare word, or the bytes of a string in UTF-8, by which browsers express a body that is not ASCII. */
  #value(from: number, end: number): string | undefined {
    const encoded = /^\(\[System\.Text\.Encoding\]::UTF8\.GetBytes\(/i.exec(
      this.#source.slice(from, from + 64),
    );
    const at = this.#skip(from + (encoded?.[0].length ?? 0));
    const read = powerShellString(this.#source, at);
    if (typeof read === 'object')
      return read.unknown.length > 0 || (encoded === null && read.end !== end)
        ? undefined
        : textOf(joinedPairs(read.bytes));
    const bare = this.#source.slice(from, end);
    return /^[^$@([{"']/.test(bare) ? textOf(bare) : undefined;
  }

  /** Reads a hash table of strings, after its `@{`. */
  #table(from: number): { readonly headers: readonly [string, string][]; readonly end: number } | undefined {
    const headers: [string, string][] = [];
    let at = from;
    for (;;) {
      while (/[\s;`]/.test(this.#source[at] ?? '')) at += 1;
      if (this.#source[at] === '}') return { headers, end: at + 1 };
      const name = powerShellString(this.#source, at);
      const bare = /^[\w-]+/.exec(this.#source.slice(at, at + 128))?.[0];
      if (name === 'unclosed' || (name === undefined && bare === undefined)) return undefined;
      at = this.#skip(name?.end ?? at + (bare?.length ?? 0));
      if (this.#source[at] !== '=') return undefined;
      at = this.#skip(at + 1);
      const value = powerShellString(this.#source, at);
      if (typeof value !== 'object') return undefined;
      headers.push([textOf(name?.bytes ?? bare ?? ''), textOf(joinedPairs(value.bytes))]);
      at = value.end;
    }
  }
}

/** Parameters of the cmdlet that define the request, others that do not affect it, and switches, which take no value. */
const TAKEN: readonly string[] = [
  'uri',
  'method',
  'custommethod',
  'headers',
  'body',
  'contenttype',
  'useragent',
  'websession',
];
const WITHOUT_EFFECT: readonly string[] = (
  'certificate certificatethumbprint connectiontimeoutseconds erroraction errorvariable httpversion informationaction ' +
  'maximumfollowrellink maximumredirection maximumretrycount operationtimeoutseconds outbuffer outfile outvariable proxy ' +
  'proxycredential responseheadersvariable retryintervalsec sessionvariable sslprotocol statuscodevariable timeoutsec ' +
  'transferencoding unixsocket verbosity warningaction'
).split(' ');
const SWITCHES: ReadonlySet<string> = new Set(
  (
    'allowinsecureredirect allowunencryptedauthentication debug disablekeepalive followrellink noproxy passthru ' +
    'preserveauthorizationonredirect preservehttpmethodonredirect proxyusedefaultcredentials resume skipcertificatecheck ' +
    'skipheadervalidation skiphttperrorcheck usebasicparsing verbose'
  ).split(' '),
);

/** The full name of a parameter, which may be abbreviated; undefined for one that affects the request but is not read. */
function parameterNamed(written: string): string | undefined {
  const name = written.toLowerCase();
  const names = [...TAKEN, ...WITHOUT_EFFECT, ...SWITCHES, ...UNREAD];
  if (name === 'sv') return 'sessionvariable';
  if (names.includes(name)) return UNREAD.includes(name) ? undefined : name;
  // -H means -Headers, although newer versions also have -HttpVersion.
  const begun = names.filter((known) => known.startsWith(name));
  const taken = begun.filter((known) => TAKEN.includes(known));
  const [only] = taken.length === 1 ? taken : begun;
  return begun.length > 1 && taken.length !== 1 ? undefined : UNREAD.includes(only ?? '') ? undefined : only;
}

const UNREAD: readonly string[] = [
  'authentication',
  'credential',
  'form',
  'infile',
  'token',
  'usedefaultcredentials',
];

function notPlain(name: string, written: string): string {
  return `This is a PowerShell command whose -${name === '' ? 'Uri' : name} is not a plain value (${textOf(written).split('\n', 1)[0] ?? ''}). Write it out in quotes, or copy it as cURL.`;
}
