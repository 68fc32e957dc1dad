import type { Hono } from 'hono';
import { requestLineAtV2 } from '../../migrate/decision.ts';
import { parsedJson } from '../../rewrite-log/attributes.ts';
import type { KeptExchange, KeptHead } from '../../rewrite-log/capture.ts';
import type { Entry } from '../../rewrite-log/entry.ts';
import { keyFieldAtV2 } from '../../rewrite/client-key.ts';
import type { CompiledRuleBook } from '../../rewrite/compiled-rule-book.ts';
import { refusalText } from '../../rewrite/records.ts';
import { type RuleBook, versionHeader } from '../../rules/rule-book.ts';
import type { Resent } from '../api.ts';
import { isOfCoded, isOfExchange, rewriteAgain } from '../entries/curl.ts';
import type { InspectorParts, RequestToResend } from '../inspector-parts.ts';
import { failure, jsonResponse, pause, readCommand } from './responses.ts';

/** Maximum bytes of a command: an API key. */
const COMMAND_BYTES = 8192;

/** The key, and fields of the way that the request took. */
const OMITTED: ReadonlySet<string> = new Set(['authorization', 'max-forwards', 'via']);

/** True for a field of a kept request that the same request has as well when it is sent again. */
function isSentAgain({ name, masked }: KeptHead['headers'][number]): boolean {
  if (masked || name.startsWith(':') || OMITTED.has(name.toLowerCase())) return false;
  return !isOfExchange(name) && !isOfCoded(name);
}

/** Maximum turns of the event loop to wait for the entry of the new exchange, which is made after the response. */
const TURNS = 200;

const MASKED = 'Values are masked (GATEWAY_CAPTURE_MASK), so this is not the request that was sent.';
const NO_VALUES = 'The values of this request are not kept: only GATEWAY_CAPTURE=bodies keeps them.';

/**
 * Adds `POST /entries/:seq/resend`, which sends a kept request to V2 again, as the gateway made it. The API key is in `{"key": …}`,
 * because keys are never kept. The request goes through the gateway as V2 traffic, with its limits and its log. The route requires a
 * setting, and works only when the values of the request are known.
 */
export function resendRoute(app: Hono, parts: InspectorParts): void {
  app.post('/entries/:seq{[0-9]+}/resend', async (c) => {
    const command = await readCommand(c.req.raw, COMMAND_BYTES);
    if (command instanceof Response) return command;
    if (parts.resend === undefined)
      return failure(403, 'resend-off', 'Set GATEWAY_INSPECTOR_RESEND=v2 to allow this.');
    const seq = Number(c.req.param('seq'));
    const [entry, kept] = [parts.view.ring.at(seq), parts.view.capture.of(seq)];
    if (entry === undefined || kept === undefined)
      return failure(404, 'no-content', 'The content of this exchange is not kept.');
    const { masks } = parts.view.capture.options;
    const request = masks.length > 0 ? MASKED : requestOf(entry, kept, parts.rulesOf(entry.ruleBook));
    if (typeof request === 'string') return failure(422, 'not-resent', request);
    const requestId = crypto.randomUUID();
    const key = keyIn(command.text);
    const headers = [
      ...request.headers,
      ['x-request-id', requestId] as const,
      ...keyFields(key, parts.rulesOf(entry.ruleBook)?.ruleBook),
    ];
    const { latest } = parts.view.ring;
    const status = await parts.resend({ ...request, headers });
    await logged(parts, requestId, latest);
    const resent: Resent = { requestId, ...(status === undefined ? {} : { status }) };
    return jsonResponse(resent);
  });
}

async function logged({ view }: InspectorParts, requestId: string, after: number): Promise<void> {
  for (let turn = 0; turn < TURNS; turn += 1) {
    if (view.ring.withRequestId(requestId, after).length > 0) return;
    await pause();
  }
}

function requestOf(
  entry: Entry,
  kept: KeptExchange,
  rules: CompiledRuleBook | undefined,
): RequestToResend | string {
  const { v1Request, v2Request } = kept;
  const { state, bytes } = v1Request.body;
  const source = v2Request ?? v1Request;
  const { method, target } =
    v2Request === undefined && rules !== undefined
      ? requestLineAtV2(v1Request.method, v1Request.target, rules)
      : source;
  if (state === 'structure' || state === 'withheld' || target.includes('…')) return NO_VALUES;
  if (entry.route === 'none') return 'The request is for neither version.';
  if (entry.route === 'webhook')
    return 'Only V2 can send a webhook again: its signature is valid for 5 minutes.';
  const outcome = rewriteAgain(entry, kept, rules, bytes);
  if (outcome?.verdict === 'refused') return `The request would be refused: ${refusalText(outcome.refusal)}`;
  if (entry.route === 'migrate' && rules === undefined)
    return 'The rule book of this exchange is no longer in memory.';
  const headers = source.headers.filter(isSentAgain).map(({ name, value }) => [name, value] as const);
  const version = rules && versionField(rules.ruleBook);
  const isVersioned = headers.some(([name]) => name.toLowerCase() === version?.[0]);
  return {
    method,
    target,
    headers:
      isVersioned || version === undefined || entry.route !== 'migrate' ? headers : [...headers, version],
    body: outcome === undefined ? bytes : outcome.body,
  };
}

/** The field for the key at V2; empty if V2 expects it in the query, which is kept without values. */
function keyFields(
  key: string | undefined,
  book: RuleBook | undefined,
): readonly (readonly [string, string])[] {
  const field = key === undefined ? undefined : keyFieldAtV2(book ?? { changes: [] }, key);
  return field === undefined ? [] : [[field[0].toLowerCase(), field[1]]];
}

/** The field for V2's release, with its value; undefined if the rule book has no release. */
function versionField(book: RuleBook): readonly [name: string, value: string] | undefined {
  const name = versionHeader(book);
  return name === undefined || book.version === undefined ? undefined : [name, book.version];
}

function keyIn(text: string): string | undefined {
  const value = parsedJson(text);
  if (typeof value !== 'object' || value === null || !('key' in value)) return undefined;
  const { key } = value;
  return typeof key === 'string' && /^[\x21-\x7e]{1,4096}$/.test(key) ? key : undefined;
}
