import type { ShownMigration } from '../../inspector/draft-desk.ts';
import type { Migration } from '../../library/migration.ts';
import { printJsonText, readJsonText } from '../../openapi/description.ts';
import { exampleError, exampleResponse } from './described-examples.ts';
import type { DescribedService } from './described-service.ts';
import type { SampleRequest } from './samples.ts';

/** Fields that do not depend on the version: those of the connection, or of one exchange. */
const OMITTED: ReadonlySet<string> = new Set([
  'accept-encoding',
  'connection',
  'content-length',
  'date',
  'forwarded',
  'host',
  'traceparent',
  'via',
  'x-request-id',
]);

/** A request with its fields and its body laid out, as a text to read. */
export function requestText({ method, target, headers, body }: SampleRequest): string {
  const fields = headers.flatMap((name, at) =>
    at % 2 === 0 ? [[name, headers[at + 1] ?? ''] as const] : [],
  );
  return messageText(`${method} ${target}`, fields, body ?? '');
}

/** The first line of a message, its fields, and its body laid out. */
export function messageText(
  first: string,
  fields: readonly (readonly [name: string, value: string])[],
  body: string,
): string {
  const shown = fields.filter(([name]) => !OMITTED.has(name.toLowerCase()));
  const head = [first, ...shown.map(([name, value]) => `${name}: ${value}`)].join('\n');
  return body === '' ? head : `${head}\n\n${laidOut(body)}`;
}

function laidOut(body: string): string {
  const value = readJsonText(body);
  return value === undefined ? body : printJsonText(value, 2);
}

/** The result of a rule book for a request, and for the response or error in V2's description. */
export function shownMigration(
  migration: Migration,
  { method, target, headers, body }: SampleRequest,
  service: DescribedService,
  answer: 'success' | 'error' = 'success',
): ShownMigration {
  const sent = migration.request(method, target, headers, body);
  if (sent.verdict === 'passed') return { request: 'not a request of V1', faults: [], response: '' };
  if (sent.verdict === 'refused') {
    const where = sent.pointer === undefined ? '' : ` at ${sent.pointer}`;
    return { request: `refused: ${sent.code}${where}`, faults: [], response: '' };
  }
  const text = sent.body === null ? '' : decoder.decode(sent.body);
  const request = messageText(`${sent.method} ${sent.target}`, sent.headers, text);
  const fields = new Map(sent.headers.map(([name, value]) => [name.toLowerCase(), value]));
  const against = service.faultsOf({
    method: sent.method,
    target: sent.target,
    field: (name) => fields.get(name),
    body: text,
  });
  const faults = [...against, ...service.unknownQueries(sent.method, sent.target)];
  const operation = service.operationOf(sent.method, sent.target);
  if (operation === undefined) return { request, faults, response: '' };
  const shown = (answer === 'error' ? exampleError : exampleResponse)(operation, service.components);
  if (shown === undefined) return { request, faults, response: '' };
  const answered = migration.response(sent, shown.status, shown.headers.flat(), shown.body);
  const content = answered.body === null ? '' : decoder.decode(answered.body);
  return { request, faults, response: messageText(String(answered.status), answered.headers, content) };
}

const decoder = new TextDecoder();
