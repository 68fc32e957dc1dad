import { keyFieldAtV1 } from '../../rewrite/client-key.ts';
import type { KeptBody, KeptExchange, KeptHead, KeptResponse } from '../../rewrite-log/capture.ts';
import type { Entry } from '../../rewrite-log/entry.ts';
import type { ShownHeader } from '../../rewrite-log/masks.ts';
import { CompiledRuleBook } from '../../rewrite/compiled-rule-book.ts';
import { deliveryContext } from '../../rewrite/loadable-rule-book.ts';
import type { Rewrite } from '../../rewrite/records.ts';
import type { ResponseRewrite } from '../../rewrite/response-rules.ts';
import type { Webhook } from '../../rules/rule-book.ts';
import type { BodyView, EntryDetail, HeaderView, NumberedEntry, ResponseView } from '../api.ts';
import { makeDiff } from '../diff/diff.ts';
import {
  type JsonLayout,
  layOutJson,
  layOutText,
  SHOWN_LIMITS,
  withContainers,
} from '../diff/json-layout.ts';
import { curlCommand, rewriteAgain } from './curl.ts';
import { reasonIn } from './search-entries.ts';

export interface DetailParts {
  readonly run: string;
  readonly seq: number;
  readonly entry: Entry;
  readonly kept: KeptExchange | undefined;
  /** The rule book of the entry; undefined when it is no longer known. */
  readonly rules: CompiledRuleBook | undefined;
  /** The origin of V2. */
  readonly origin: string;
  /** See `NumberedEntry`. */
  readonly lacks?: readonly string[] | undefined;
}

/** Size in bytes above which formatting a body takes more than a millisecond. */
const LARGE_BYTES = 16 * 1024;

const NOT_CAPTURED_NOTE =
  'Only the log entry of this exchange was kept: at a high rate only a sample is captured, the time for capturing in that second was used up, or newer exchanges replaced it.';
const NOT_REPEATED = 'The rules that rewrote it are no longer in memory, or the original body was not kept.';
const UNKNOWN_RULES_NOTE =
  'The rule book of this exchange is no longer in memory, so its V2 body cannot be shown.';

/**
 * Shows one exchange from its four perspectives, with its edits and their reasons. Each body is laid out once, within
 * `SHOWN_LIMITS`; `pause` is awaited before each large one, so that client traffic is not delayed.
 */
export async function entryDetail(parts: DetailParts, pause: () => Promise<void>): Promise<EntryDetail> {
  const { run, seq, entry, kept, rules, lacks = [] } = parts;
  const reason = reasonIn(entry, kept);
  const numbered: NumberedEntry = {
    seq,
    ...entry,
    ...(reason === undefined ? {} : { reason }),
    ...(lacks.length === 0 ? {} : { lacks }),
  };
  if (kept === undefined) return { run, entry: numbered, kept: 'nothing', note: NOT_CAPTURED_NOTE };
  const { bytes } = kept.v1Request.body;
  const outcome = likeLive(entry, kept, rules, bytes);
  const delivered = deliveredBody(parts, kept);
  const bodies = new BodyViews(pointersOf(entry, outcome));
  for (const body of [...bytesOf(kept, outcome), ...(delivered === undefined ? [] : [delivered])]) {
    if (body.length < LARGE_BYTES) continue;
    await pause();
    bodies.layOut(body);
  }
  const headers = compareHeaders(kept.v1Request.headers, kept.v2Request?.headers);
  const v1Request = {
    ...kept.v1Request,
    headers: headers.before,
    body: bodies.view(kept.v1Request.body, entry.bytesIn),
  };
  const v2Request = kept.v2Request && {
    ...kept.v2Request,
    headers: headers.after,
    body:
      entry.route === 'webhook'
        ? bodies.delivered(kept.v1Request.body, delivered, entry)
        : bodies.sent(kept.v1Request.body, outcome, entry),
  };
  return {
    run,
    entry: numbered,
    kept: kept.v1Request.body.state === 'values' ? 'bodies' : 'structure',
    ...(entry.route === 'migrate' && rules === undefined ? { note: UNKNOWN_RULES_NOTE } : {}),
    v1Request,
    ...(v2Request === undefined ? {} : { v2Request }),
    ...responseViews(kept, bodies),
    ...(outcome !== undefined && bytes !== undefined && rules !== undefined
      ? { diff: makeDiff(bytes, withEdits(outcome, entry), rules.ruleBook, (body) => bodies.layOut(body)) }
      : {}),
    curl: {
      v1: curlCommand(v1Request, gatewayOrigin(kept.v1Request), keyFieldAtV1(rules?.ruleBook, '')?.[0]),
      // A webhook was sent to a subscriber, with a signature that is masked here.
      ...(v2Request === undefined || entry.route === 'webhook'
        ? {}
        : { v2: curlCommand(v2Request, parts.origin) }),
    },
  };
}

/**
 * Rewrites a kept body as live. A masked one differs where rules read values: maps leave a mask unchanged, and a conversion that would
 * refuse it keeps it, if the gateway refused nothing.
 */
function likeLive(
  entry: Entry,
  kept: KeptExchange,
  rules: CompiledRuleBook | undefined,
  bytes: Uint8Array | undefined,
): Rewrite | undefined {
  const outcome = rewriteAgain(entry, kept, rules, bytes);
  const isRefused = (entry.would?.verdict ?? entry.verdict) === 'refused';
  if (outcome?.verdict !== 'refused' || isRefused || rules === undefined) return outcome;
  return rewriteAgain(entry, kept, keepingValues(rules), bytes);
}

function keepingValues({ ruleBook }: CompiledRuleBook): CompiledRuleBook {
  const value = 'keep';
  return new CompiledRuleBook({
    ...ruleBook,
    policies: { ...ruleBook.policies, value },
    changes: ruleBook.changes.map((change) => ({ ...change, policies: { ...change.policies, value } })),
  });
}

/** The body that the subscriber of a rewritten webhook received; undefined if unchanged or unknown. */
function deliveredBody({ entry, rules, origin }: DetailParts, kept: KeptExchange): Uint8Array | undefined {
  const { body, target } = kept.v1Request;
  if (entry.route !== 'webhook' || entry.verdict !== 'rewritten' || body.bytes === undefined)
    return undefined;
  const webhook = rules?.webhooks?.get(target.split('?', 1)[0] ?? '');
  if (rules === undefined || webhook === undefined) return undefined;
  return delivery(rules, webhook, body.bytes, { origin, gateway: gatewayOrigin(kept.v1Request) })?.body;
}

/** Rewrites a webhook of V2 by its rules; undefined without any. `gateway` is the address that V2 posts to. */
export function delivery(
  rules: CompiledRuleBook,
  webhook: Webhook,
  body: Uint8Array,
  { origin, gateway }: { readonly origin: string; readonly gateway: string | undefined },
): ResponseRewrite | undefined {
  const operation = rules.ruleBook.operations.find(({ id }) => id === webhook.as);
  if (operation === undefined) return undefined;
  const v2 = { hosts: [new URL(origin).host], path: '' };
  const context = deliveryContext(rules, operation, v2, webhook.gateway ?? gateway);
  return rules.responsePlan(operation, operation.method).rewrite(body, context);
}

/** The members that edits and response edits change, or the place of a refusal. */
function pointersOf({ responseEdits = [], pointer }: Entry, outcome: Rewrite | undefined): readonly string[] {
  const records = outcome === undefined || outcome.verdict === 'refused' ? [] : outcome.records;
  const pointers = [...records, ...responseEdits].flatMap(({ from, path }) => [from, path]);
  return [...pointers, pointer].filter((one) => one !== undefined);
}

function withEdits(outcome: Rewrite, { edits }: Entry): Rewrite {
  return outcome.verdict === 'refused' ? outcome : { ...outcome, records: edits };
}

function bytesOf(kept: KeptExchange, outcome: Rewrite | undefined): Uint8Array[] {
  const sent = outcome !== undefined && 'body' in outcome ? outcome.body : undefined;
  const { v1Request, v2Response, clientResponse } = kept;
  return [v1Request.body.bytes, sent, v2Response?.body.bytes, clientResponse?.body.bytes].filter(
    (bytes) => bytes !== undefined,
  );
}

/** Formats each body once, even if it is displayed several times. */
class BodyViews {
  private readonly layouts = new Map<Uint8Array, JsonLayout | undefined>();
  /** The containers that stay unfolded in a large body. */
  private readonly unfolded: ReadonlySet<string>;

  constructor(pointers: readonly string[]) {
    this.unfolded = withContainers(pointers);
  }

  layOut(bytes: Uint8Array): JsonLayout | undefined {
    if (!this.layouts.has(bytes)) this.layouts.set(bytes, layOutJson(bytes, SHOWN_LIMITS, this.unfolded));
    return this.layouts.get(bytes);
  }

  view({ state, bytes, note }: KeptBody, size: number): BodyView {
    const layout = bytes === undefined ? undefined : this.layOut(bytes);
    const text = bytes === undefined ? undefined : (layout?.text ?? layOutText(bytes));
    return {
      state,
      ...(text === undefined ? {} : { text }),
      bytes: size,
      ...(note === undefined ? {} : { note }),
      ...(layout?.isFolded === true ? { isFolded: true } : {}),
    };
  }

  /** The body that a subscriber received, computed by the plan from the captured one. */
  delivered(kept: KeptBody, body: Uint8Array | undefined, entry: Entry): BodyView {
    if (entry.verdict !== 'rewritten') return this.view(kept, entry.bytesOut);
    if (body === undefined) return { state: 'withheld', bytes: entry.bytesOut, note: NOT_REPEATED };
    return this.view({ ...kept, bytes: body }, entry.bytesOut);
  }

  /** The body that V2 received, computed by the plan from the captured one. */
  sent(kept: KeptBody, outcome: Rewrite | undefined, entry: Entry): BodyView {
    if (outcome === undefined) return this.view(kept, entry.bytesOut);
    if (outcome.verdict === 'refused') return { state: 'none', bytes: 0 };
    return this.view({ ...kept, bytes: outcome.body }, entry.bytesOut);
  }
}

function responseViews(
  { v2Response, clientResponse }: KeptExchange,
  bodies: BodyViews,
): Pick<EntryDetail, 'v2Response' | 'clientResponse'> {
  const headers = compareHeaders(v2Response?.headers ?? [], clientResponse?.headers);
  const view = ({ status, body, bodyBytes }: KeptResponse, shown: ResponseView['headers']): ResponseView => ({
    status,
    headers: shown,
    body: bodies.view(body, bodyBytes),
  });
  return {
    ...(v2Response === undefined ? {} : { v2Response: view(v2Response, headers.before) }),
    ...(clientResponse === undefined
      ? {}
      : {
          clientResponse: view(
            clientResponse,
            v2Response === undefined ? clientResponse.headers : headers.after,
          ),
        }),
  };
}

/** The gateway's origin as the client addressed it. */
function gatewayOrigin({ headers }: KeptHead): string {
  const host = headers.find(({ name }) => name.toLowerCase() === 'host' || name === ':authority')?.value;
  return `http://${host ?? '127.0.0.1:8080'}`;
}

/** Marks, in each of two lists, the fields that the other lacks or has with another value. */
export function compareHeaders(
  before: readonly ShownHeader[],
  after: readonly ShownHeader[] | undefined,
): { readonly before: readonly HeaderView[]; readonly after: readonly HeaderView[] } {
  if (after === undefined) return { before, after: [] };
  return {
    before: before.map((header) =>
      marked(header, valuesOf(after, header.name).length === 0 ? 'removed' : undefined),
    ),
    after: after.map((header) => {
      const values = valuesOf(before, header.name);
      if (values.length === 0) return marked(header, 'added');
      return marked(header, values.includes(header.value) ? undefined : 'changed');
    }),
  };
}

function valuesOf(headers: readonly ShownHeader[], name: string): readonly string[] {
  const lower = name.toLowerCase();
  return headers.filter((header) => header.name.toLowerCase() === lower).map((header) => header.value);
}

function marked({ name, value, masked }: ShownHeader, change: HeaderView['change']): HeaderView {
  return change === undefined ? { name, value, masked } : { name, value, masked, change };
}
