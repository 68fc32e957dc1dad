import { readFileSync } from 'node:fs';
import type { ReadRequests } from '../../src/inspector/explain/curl-command.ts';

/** A request as curl sent it: without what each has (`Host`, `User-Agent`, `Accept: *` and the length), and with Latin-1 for bytes. */
interface SentRequest {
  readonly method: string;
  readonly target: string;
  readonly fields: readonly (readonly [name: string, value: string])[];
  readonly body: string;
}

/** A command for bash, in which `HOST` stands for host and port, and the requests that curl 7.88 made of it; none where it refused. */
export interface MeasuredCommand {
  readonly command: string;
  readonly sent: readonly SentRequest[];
}

/** Commands with the requests that were measured. A row is measured again by `pasted-request.system.test.ts`. */
export const MEASURED_COMMANDS: readonly MeasuredCommand[] = readFileSync(
  new URL('../inspector/explain/sent-by-curl.jsonl', import.meta.url),
  'utf8',
)
  .split('\n')
  .filter((line) => line !== '')
  .map((line): MeasuredCommand => JSON.parse(line));

/** The files that the commands send. */
export const SENT_FILES: Readonly<Record<string, string>> = {
  'f.txt': 'a b\r\n"c"\n',
  'curl.conf':
    '# what all calls have\nrequest = PUT\nheader: "X-K: a \\"b\\""\n-d {"a":1}\n--compressed\nuser-agent = "me" # not you\n',
  'h.txt': 'X-From: file\nX-Two: 2\n',
  'j.json': '{"data":{\n "a":1}}\n',
};

/** Prints requests so that they compare: fields in any order, escapes in capitals, and one boundary. */
export function printSent(requests: readonly SentRequest[]): readonly string[] {
  return requests.map(({ method, target, fields, body }) => {
    const lines = fields.map(([name, value]) => `${name}: ${value}`).sort();
    const text = [
      `${method} ${target.replaceAll(/%../g, (escape) => escape.toUpperCase())}`,
      ...lines,
      '',
      body,
    ];
    const boundary = /boundary=(-*\w+)/.exec(lines.join('\n'))?.[1];
    const whole = text.join('\n');
    return boundary === undefined ? whole : whole.replaceAll(boundary, 'BOUNDARY');
  });
}

/** The requests that were read from a command, as they would be sent. */
export function asSent({ requests }: ReadRequests): readonly SentRequest[] {
  const latin = (text: string): string => Buffer.from(text).toString('latin1');
  return requests.map(({ request }) => ({
    method: request.method ?? '',
    target: latin(request.target ?? ''),
    fields: (request.headers ?? [])
      .filter(([name]) => !/^(?:expect|content-length)$/i.test(name))
      .map(([name, value]) => [latin(name), latin(value)] as const),
    body:
      request.bodyBase64 === undefined
        ? latin(request.body ?? '')
        : Buffer.from(request.bodyBase64, 'base64').toString('latin1'),
  }));
}
