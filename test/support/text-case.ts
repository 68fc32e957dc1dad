/** A message of a text case: its first line, headers and body. */
export interface TextMessage {
  readonly line: string;
  /** Names in lower case; a name with `!` in front must be absent. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string;
}

/**
 * A whole exchange as text. `> ` is the V1 request, `= ` what V2 gets (none: nothing may reach it), `* ` what V2
 * responses (by default 200 with `{"data":{}}`), `< ` what the client gets. First a line `METHOD target` or a status,
 * then headers, then an empty line, then the body; `= ` and `< ` check the headers they name and the whole body,
 * a body of `…` is not checked. `! name: value` is an option of the run, `# ` the title.
 */
export interface TextCase {
  readonly title: string;
  readonly request: TextMessage;
  readonly upstream: TextMessage | undefined;
  readonly upstreamResponse: TextMessage;
  readonly response: TextMessage;
  readonly options: Readonly<Record<string, string>>;
}

const PLAIN_ANSWER: TextMessage = {
  line: '200',
  headers: [['content-type', 'application/json']],
  body: '{"data":{}}',
};

/** Reads the text cases of a file: each starts with a title. */
export function readTextCases(text: string): readonly TextCase[] {
  return text
    .split(/^# /m)
    .slice(1)
    .map((part) => readTextCase(part));
}

function readTextCase(part: string): TextCase {
  const [title = '', ...lines] = part.split('\n');
  const sections = new Map<string, string[]>();
  const options: Record<string, string> = {};
  for (const line of lines) {
    const mark = line.charAt(0);
    if (mark === '') continue;
    if (mark === '!') {
      const [name = '', value = ''] = line.slice(1).split(/:(.*)/s);
      options[name.trim()] = value.trim();
      continue;
    }
    if (!'>=*<'.includes(mark)) throw new Error(`in “${title}”: a line starts with ${mark}`);
    sections.set(mark, [...(sections.get(mark) ?? []), line.slice(2)]);
  }
  const read = (mark: string): TextMessage | undefined => {
    const section = sections.get(mark);
    return section === undefined ? undefined : readMessage(section);
  };
  const [request, response] = [read('>'), read('<')];
  if (request === undefined || response === undefined)
    throw new Error(`in “${title}”: a request and a response are needed`);
  return {
    title,
    request,
    upstream: read('='),
    upstreamResponse: read('*') ?? PLAIN_ANSWER,
    response,
    options,
  };
}

function readMessage([line = '', ...rest]: readonly string[]): TextMessage {
  const empty = rest.indexOf('');
  const headers = (empty === -1 ? rest : rest.slice(0, empty)).map((header) => {
    const [name = '', value = ''] = header.split(/:(.*)/s);
    return [name.trim().toLowerCase(), value.trim()] as const;
  });
  return { line, headers, body: empty === -1 ? '' : rest.slice(empty + 1).join('\n') };
}

/** What `message` lacks of what `expected` says: one sentence for each difference. */
export function differences(expected: TextMessage, message: TextMessage): readonly string[] {
  const faults: string[] = [];
  if (message.line !== expected.line)
    faults.push(`the first line is “${message.line}”, not “${expected.line}”`);
  for (const [name, value] of expected.headers) {
    const isAbsent = name.startsWith('!');
    const values = message.headers
      .filter(([other]) => other === (isAbsent ? name.slice(1) : name))
      .map(([, v]) => v);
    if (isAbsent && values.length > 0) faults.push(`${name.slice(1)} is there: ${values.join(' | ')}`);
    if (!isAbsent && values.join(' | ') !== value)
      faults.push(`${name} is “${values.join(' | ')}”, not “${value}”`);
  }
  if (expected.body !== '…' && message.body !== expected.body)
    faults.push(`the body is “${message.body}”, not “${expected.body}”`);
  return faults;
}
