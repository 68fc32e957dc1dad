import { messageDifferences, type TextMessage } from '../../src/cli/cases/text-cases.ts';

/** Writes a request of a text case as latin1, with a length where there is a body. */
export function writeRawRequest(message: TextMessage): string {
  const body = Buffer.from(message.body, 'utf8');
  const method = message.line.split(' ', 1)[0] ?? '';
  const hasLength = body.length > 0 || method === 'POST' || method === 'PATCH';
  return `${message.line} HTTP/1.1\r\nHost: gateway.test\r\n${headerLines(message)}${hasLength ? `Content-Length: ${body.length}\r\n` : ''}\r\n${body.toString('latin1')}`;
}

/** Writes a response of a text case as latin1. */
export function writeRawResponse(message: TextMessage): string {
  const body = Buffer.from(message.body, 'utf8');
  return `HTTP/1.1 ${message.line} Status\r\n${headerLines(message)}Content-Length: ${body.length}\r\n\r\n${body.toString('latin1')}`;
}

/** Reads one message that was sent whole; of a response the first line is its status. */
export function readRawMessage(text: string): TextMessage {
  const end = text.indexOf('\r\n\r\n');
  const [first = '', ...lines] = text.slice(0, end).split('\r\n');
  const line = first.startsWith('HTTP/') ? (first.split(' ')[1] ?? '') : first.replace(/ HTTP\/1\.1$/, '');
  const headers = lines.map((header) => {
    const [name = '', value = ''] = header.split(/:(.*)/s);
    return [name.toLowerCase(), value.trim()] as const;
  });
  const isChunked = headers.some(([name, value]) => name === 'transfer-encoding' && value === 'chunked');
  const body = Buffer.from(text.slice(end + 4), 'latin1');
  return { line, headers, body: (isChunked ? joinChunks(body) : body).toString('utf8') };
}

function headerLines(message: TextMessage): string {
  return message.headers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
}

function joinChunks(body: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; ;) {
    const end = body.indexOf('\r\n', at);
    const size = Number.parseInt(body.toString('latin1', at, end), 16);
    if (!(size > 0)) return Buffer.concat(parts);
    parts.push(body.subarray(end + 2, end + 2 + size));
    at = end + 2 + size + 2;
  }
}

/** What `message` lacks of what `expected` says: one sentence for each difference. */
export function differences(expected: TextMessage | undefined, message: TextMessage): readonly string[] {
  if (expected === undefined) return [];
  return messageDifferences(expected, message).map(
    ({ part, expected: wanted = 'absent', actual = 'absent' }) => `${part} is “${actual}”, not “${wanted}”`,
  );
}
