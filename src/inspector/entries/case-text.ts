import type { Entry } from '../../rewrite-log/entry.ts';
import { outcomeOf } from '../../rewrite-log/entry-outcome.ts';
import type { KeptExchange, KeptHead, KeptResponse } from '../../rewrite-log/capture/kept-exchange.ts';
import type { Rewrite } from '../../rewrite/rewrite.ts';
import { entryName, OUTCOME_WORDS } from './entry-words.ts';
import { bodyText } from './replayable.ts';

const decoder = new TextDecoder();

/** A body that is not checked. */
const ANY = '…';

/** Request fields that belong to the connection or to one exchange, and not to a case. */
const OMITTED: ReadonlySet<string> = new Set([
  'accept-encoding',
  'connection',
  'content-encoding',
  'content-length',
  'host',
  'keep-alive',
  'traceparent',
  'tracestate',
  'transfer-encoding',
  'x-request-id',
]);

/**
 * Formats an exchange as a text case, in the notation of the cases of this project: `> ` the V1 request, `= ` the request for V2,
 * `* ` V2's response, `< ` the client's. A dry run is a case of its own, without V2's response. Undefined
 * when there is nothing to replay: no body was kept, or a service or the client was missing.
 */
export function caseText(entry: Entry, kept: KeptExchange, outcome: Rewrite | undefined): string | undefined {
  const { v1Request, v2Response, clientResponse } = kept;
  const body = bodyText(v1Request.body);
  if (entry.route !== 'migrate' || (body === undefined && entry.bytesIn > 0)) return undefined;
  const isDryRun = entry.origin === 'v1';
  const isRefused = outcome?.verdict === 'refused';
  if (!isDryRun && !isRefused && v2Response === undefined) return undefined;
  if (entry.verdict === 'refused' && !isRefused) return undefined;
  const sent = outcome !== undefined && 'body' in outcome ? decoder.decode(outcome.body) : body;
  return [
    `# ${entryName(entry)}, ${OUTCOME_WORDS[outcomeOf(entry)]}`,
    ...message('>', `${v1Request.method} ${targetOf(v1Request)}`, fieldsOf(v1Request.headers, true), body),
    ...(isRefused ? [] : message('=', `${v1Request.method} ${v2Target(kept)}`, sentFields(entry), sent)),
    ...(isDryRun || v2Response === undefined ? [] : responseLines('*', v2Response)),
    ...(isDryRun || clientResponse === undefined
      ? message('<', isRefused ? statusOf(outcome) : '200', [], ANY)
      : message('<', String(clientResponse.status), [], exactly(clientResponse))),
    '',
  ].join('\n');
}

function statusOf(outcome: Rewrite | undefined): string {
  return outcome?.verdict === 'refused' ? String(outcome.refusal.status) : '200';
}

function targetOf({ target }: KeptHead): string {
  return target.replaceAll(ANY, '');
}

function v2Target({ v1Request, v2Request }: KeptExchange): string {
  return targetOf(v2Request ?? v1Request).replace(/^\/api\/v1(?=[/?]|$)/, '/api/v2');
}

function sentFields({ apiVersion }: Entry): readonly string[] {
  return apiVersion === undefined ? [] : [`x-api-version: ${apiVersion.sent}`];
}

function fieldsOf(headers: KeptHead['headers'], withKey: boolean): readonly string[] {
  return headers.flatMap(({ name, value, masked }) => {
    const lower = name.toLowerCase();
    if (lower === 'authorization') return withKey ? ['Authorization: Bearer key'] : [];
    return masked || OMITTED.has(lower) || name.startsWith(':') ? [] : [`${name}: ${value}`];
  });
}

function responseLines(mark: string, response: KeptResponse): readonly string[] {
  return message(mark, String(response.status), fieldsOf(response.headers, false), bodyText(response.body));
}

/** A response of which only the structure is known is not compared. */
function exactly({ body }: KeptResponse): string {
  return body.state === 'values' ? (bodyText(body) ?? ANY) : body.state === 'none' ? '' : ANY;
}

function message(mark: string, first: string, fields: readonly string[], body: string | undefined): string[] {
  const lines = [first, ...fields, ...(body === undefined || body === '' ? [] : ['', ...body.split('\n')])];
  return lines.map((line) => `${mark} ${line}`);
}
