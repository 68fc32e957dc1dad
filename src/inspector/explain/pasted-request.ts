import { readCurlCommand, readAddress, type NamedRequest, type ReadRequests } from './curl-command.ts';
import { CURL, readBash, type ReadFile, type ShellCommand, textOf } from './shell-words.ts';

/** Forms of a request that are not read, by how they are recognised, with a name for each. */
const OTHER_FORMS: readonly (readonly [RegExp, string])[] = [
  [/^(?:const |let |var |await |return )*(?:\w+ = )?(?:await )?axios[.(]/, 'a call to axios'],
  [/^\$\.(?:ajax|get|post)\(/, 'a call to jQuery'],
  [/^(?:import requests|requests\.\w+\(|\w+ = requests\.)/, 'a script for Python’s requests'],
  [/^(?:var|const|let) \w+ = new XMLHttpRequest/, 'a script with XMLHttpRequest'],
  [/^(?:package main|import \()/, 'a program in Go'],
  [/^[*>] \S/, 'the output of curl -v'],
  [/^<\?php|^\$(?:curl|ch|client) = /, 'a script in PHP'],
  [/^for\s+(?:\/[a-z]\s+)*%%?\w/i, 'a loop of cmd.exe'],
  [/(?:^|[\s(=;|])(?:Invoke-WebRequest|Invoke-RestMethod|iwr|irm)\s/i, 'a command for PowerShell'],
  // In Windows PowerShell, `curl` is an alias of the cmdlet, which has parameters of these names.
  [/^curl\s[^'"]*-(?:Uri|Headers|Method|Body)\s/i, 'a command for PowerShell'],
  // In bash, a backquote ends no line, and neither `{`"a`":1}` nor `'{\"a\":1}'` is JSON.
  [/`\r?\n|[{[,:]\s?`"|'\s*[{[]\s*\\"/, 'a command for PowerShell'],
  [/^[^']*\^(?:["&]|%\^|\r?\n)|'[ \t]*\^\r?\n/, 'a command for cmd.exe'],
  // Firefox doubled each quote, which between quotes of bash would vanish.
  [/^[^']*[{[:,]\s?""[^"\s,}\]]/, 'a command for cmd.exe'],
  [
    /^(?:(?:for|while|until|if|case|select|function)\s(?!\()|\w+\s*\(\)\s*\{)/,
    'a loop, a condition or a function of a shell',
  ],
];

const HOW =
  'Copy it as cURL for bash (browsers: Network, Copy, Copy as cURL (bash) or (POSIX)), or give --method, --target and the body.';

/** Words before a command that do not affect its request. */
const PREFIXES: ReadonlySet<string> = new Set('$ % ! noglob'.split(' '));

/** Words with which a command of a shell begins that runs others. */
const COMPOUND: ReadonlySet<string> = new Set(
  'for while until if then else elif case select function do { [[ eval'.split(' '),
);

/**
 * Reads the requests in a pasted text: curl commands in the quoting of bash, `fetch("…", {…})` with JSON, and the text of an HTTP/1.1
 * request. Any other text gives a fault that names its form. `readFile` resolves the files that a command sends.
 */
export function readPasted(text: string, readFile: ReadFile): ReadRequests {
  const trimmed = withoutPrompts(withoutFence(text.replace(/^\uFEFF/, '').trim()));
  if (FETCH.test(trimmed)) return readFetches(trimmed);
  const message = trimmed.replace(/^(?:(?:#|\/\/).*\r?\n\s*)+(?=[A-Z]+ \S)/, '');
  if (MESSAGE.test(message)) return readMessage(message);
  const other = OTHER_FORMS.find(([form]) => form.test(trimmed));
  if (other !== undefined) return unread(`This is ${other[1]}, which is not read. ${HOW}`);
  if (/\bfetch\s*\(/.test(trimmed) && !trimmed.includes('curl')) return unread(AROUND_FETCH);
  const commands = readBash(trimmed);
  return 'fault' in commands ? unread(commands.fault) : readCommands(commands, readFile);
}

/** A call to fetch as browsers copy it: an address in double quotes, and options in JSON. */
const FETCH = /^(?:await )?fetch\(\s*("(?:[^"\\\n]|\\.)*")\s*(,\s*(?=\{))?/;

const AROUND_FETCH = `This is a program around a call to fetch, which is not read. ${HOW}`;

/** The first line of a request in developer tools or, without a version, in editors. */
const MESSAGE =
  /^(?:[A-Z]+ \S+ HTTP\/\d|(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS) (?:https?:\/)?\/\S*[ \t]*(?:\r?\n|$))/;

/** Removes the prompts of terminals on Windows and Linux, which a shell would read as words. */
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

function readCommands(commands: readonly ShellCommand[], readFile: ReadFile): ReadRequests {
  const reads: ReadRequests[] = [];
  let others = '';
  let isPiped = false;
  for (const { words: given, operator } of commands) {
    const words = [...given];
    while (isPrefix(words[0]?.bytes ?? '') && words.length > 1) words.shift();
    const curl = WRAPPERS.has(words[0]?.bytes ?? '') ? words.findIndex(({ bytes }) => CURL.test(bytes)) : -1;
    if (curl > 0) words.splice(0, curl);
    const program = textOf(words[0]?.bytes ?? '');
    const isFed = isPiped;
    isPiped = operator.startsWith('|') && operator !== '||';
    if (CURL.test(program)) {
      reads.push(isFed ? unread(PIPED) : readCurlCommand(words, readFile));
      if (operator === '&' && words.at(-1)?.bytes.includes('?') === true)
        reads.push({
          requests: [],
          faults: [],
          notes: ['In a shell, & ends the command: put an address with & in quotes.'],
        });
    } else if (COMPOUND.has(program))
      return unread(`This is a script with ${program}, which is not read. ${HOW}`);
    else if (program.startsWith('-') && reads.length > 0)
      return unread(
        `A line begins with ${program}, which a shell reads as a new command: the backslash before it must be the last character of its line.`,
      );
    else if (runsCurl(words))
      reads.push(
        unread(
          `curl is an argument of ${program}, which is not run: paste the curl command itself, with its values.`,
        ),
      );
    else others ||= program;
  }
  if (reads.length === 0)
    return unread(
      others === ''
        ? 'There is no command.'
        : /[\u00a0\u2000-\u200b\u202f\u3000]/.test(others)
          ? `The command has a space that shells do not recognise, perhaps from a word processor (${visibleSpaces(others)}): type it again.`
          : isAddress(others)
            ? `The command is not curl: it begins with ${others}. Write curl before it.`
            : `The command is not curl: it begins with ${others}. ${HOW}`,
    );
  return together(reads);
}

function together(reads: readonly ReadRequests[]): ReadRequests {
  return {
    requests: reads.flatMap(({ requests }) => requests),
    faults: reads.flatMap(({ faults }) => faults),
    notes: [...new Set(reads.flatMap(({ notes }) => notes))],
  };
}

const PIPED =
  'A pipe gives curl its input, which is not run here: put the text after -d, in single quotes, or name a file, as in -d @file.';

/** True where another program runs curl, such as xargs, and not where it only names it, such as a package manager. */
function runsCurl(words: ShellCommand['words']): boolean {
  return words.some(
    ({ bytes }, at) =>
      at > 0 &&
      (/^curl(?:\.exe)?\s/.test(bytes) || (CURL.test(bytes) && /^-|[/:]/.test(words[at + 1]?.bytes ?? ''))),
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

function isPrefix(word: string): boolean {
  return PREFIXES.has(word) || /^[A-Za-z_]\w*=/.test(word);
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
  let rest = text;
  for (let call = FETCH.exec(rest); call !== null; call = FETCH.exec(rest)) {
    const from = call[0].length;
    const end = call[2] === undefined ? from : endOfObject(rest, from);
    const close = /^[\s,]*\)[\s;]*/.exec(rest.slice(end))?.[0];
    if (close === undefined) break;
    reads.push(readFetch(call[1] ?? '', rest.slice(from, end)));
    rest = rest.slice(end + close.length);
  }
  if (rest !== '')
    reads.push(
      unread(
        'This is a call to fetch that is not fetch("…", {…}) with JSON, or is part of a program. Copy it as fetch or as cURL in the browser.',
      ),
    );
  return together(reads);
}

/** The place after an object that begins at `from`; the end of the text where it has none. */
function endOfObject(text: string, from: number): number {
  let depth = 0;
  for (let at = from; at < text.length; at += 1) {
    const character = text[at] ?? '';
    if (character === '"') while (++at < text.length && text[at] !== '"') if (text[at] === '\\') at += 1;
    if ('{['.includes(character)) depth += 1;
    if ('}]'.includes(character)) depth -= 1;
    if (depth === 0) return at + 1;
  }
  return text.length;
}

function readFetch(quotedAddress: string, json: string): ReadRequests {
  let [address, options]: [unknown, unknown] = ['', {}];
  try {
    address = JSON.parse(quotedAddress);
    if (json !== '') options = JSON.parse(json);
  } catch {
    return unread(
      'The arguments of the call to fetch are not JSON: write them out in double quotes, or copy it as cURL.',
    );
  }
  const { headers: fields = {}, body, method = 'GET' } = Object(options);
  const headers = Object.entries(Object(fields)).map(([name, value]): [string, string] => [
    name,
    String(value),
  ]);
  if (typeof fields !== 'object' || Array.isArray(fields))
    return unread('The headers of the call to fetch are not an object.');
  if (body !== undefined && body !== null && typeof body !== 'string')
    return unread('The body of the call to fetch is not a text: write it as a string.');
  const given = String(method);
  // fetch changes only these to upper case (Fetch §2.2.1), and not patch.
  const normal = /^(?:delete|get|head|options|post|put)$/i.test(given) ? given.toUpperCase() : given;
  if (typeof body === 'string' && /^(?:GET|HEAD)$/.test(normal))
    return unread(`fetch sends no ${normal} with a body: remove the body, or choose another method.`);
  const url = URL.parse(String(address), 'http://host');
  if (url === null) return unread(`fetch does not take ${String(address)} as an address.`);
  if (!/^https?:$/.test(url.protocol)) return unread(`${String(address)} is not an HTTP address.`);
  const hasType = headers.some(([name]) => name.toLowerCase() === 'content-type');
  if (typeof body === 'string' && !hasType) headers.push(['Content-Type', 'text/plain;charset=UTF-8']);
  // Like a browser, resolves dot segments and escapes invalid characters.
  const sent = `http://host${url.pathname}${url.search}`;
  return requestOf({ method: normal, address: sent, headers, body: body ?? undefined });
}
