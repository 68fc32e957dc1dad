import type { KeptResponse, KeptBody, KeptExchange, KeptHead } from '../rewrite-log/kept-exchange.ts';
import type { Entry } from '../rewrite-log/entry.ts';
import type { Rewrite } from '../rewrite/rewrite.ts';
import type { ResponseView, BodyView, EntryDetail, NumberedEntry, RequestView } from './api.ts';
import { curlCommand } from './curl.ts';
import { makeDiff } from './diff.ts';
import { compareHeaders } from './header-views.ts';
import { layOutJson } from './json-layout.ts';
import type { CompiledRuleBook } from '../rewrite/compiled-rule-book.ts';

/** What the detail of an entry is made of. */
export interface DetailParts {
  readonly run: string;
  readonly seq: number;
  readonly entry: Entry;
  readonly kept: KeptExchange | undefined;
  /** The rule book of the entry, unless it is no longer known. */
  readonly rules: CompiledRuleBook | undefined;
  /** Where V2 is. */
  readonly origin: string;
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** Shows one exchange from its four perspectives, with what was changed in it and why. */
export function entryDetail(parts: DetailParts): EntryDetail {
  const { run, seq, entry, kept } = parts;
  const numbered: NumberedEntry = { seq, ...entry };
  if (kept === undefined) return { run, entry: numbered, kept: 'nothing', note: NOT_KEPT };
  const outcome = rewriteAgain(parts, kept);
  const headers = compareHeaders(kept.v1Request.headers, kept.v2Request?.headers);
  const responses = compareHeaders(kept.v2Response?.headers ?? [], kept.clientResponse?.headers);
  const v1Request = requestView(kept.v1Request, headers.before, bodyView(kept.v1Request.body, entry.bytesIn));
  const v2Request =
    kept.v2Request &&
    requestView(kept.v2Request, headers.after, sentBody(kept.v1Request.body, outcome, entry));
  const isRead = outcome !== undefined && parts.rules !== undefined;
  const bytes = kept.v1Request.body.bytes;
  return {
    run,
    entry: numbered,
    kept: kept.v1Request.body.state === 'values' ? 'bodies' : 'structure',
    ...(entry.route === 'migrate' && parts.rules === undefined ? { note: OLD_RULES } : {}),
    v1Request,
    ...(v2Request === undefined ? {} : { v2Request }),
    ...(kept.v2Response === undefined ? {} : { v2Response: responseView(kept.v2Response, responses.before) }),
    ...(kept.clientResponse === undefined
      ? {}
      : {
          clientResponse: responseView(
            kept.clientResponse,
            kept.v2Response === undefined ? kept.clientResponse.headers : responses.after,
          ),
        }),
    ...(isRead && bytes !== undefined && parts.rules !== undefined
      ? { diff: makeDiff(bytes, outcome, parts.rules.ruleBook) }
      : {}),
    curl: {
      v1: curlCommand(v1Request, gatewayOrigin(kept.v1Request)),
      ...(v2Request === undefined ? {} : { v2: curlCommand(v2Request, parts.origin) }),
    },
  };
}

const NOT_KEPT =
  'Nothing was kept of this exchange but its entry: so many came at once that only a share had its structure kept, or it made room for newer ones.';
const OLD_RULES = 'The rule book of this exchange is no longer in memory, so its V2 body cannot be shown.';

/** The same plan does the same to a masked body as it did to the real one, for no rule looks at values. */
function rewriteAgain({ entry, rules }: DetailParts, kept: KeptExchange): Rewrite | undefined {
  const { bytes } = kept.v1Request.body;
  if (entry.route !== 'migrate' || bytes === undefined || rules === undefined) return undefined;
  if (entry.note === 'media-type' || entry.note === 'unsupported: forward') return undefined;
  const operation = rules.ruleBook.operations.find(({ id }) => id === entry.operation);
  return rules.requestPlan(operation).rewrite(bytes);
}

function sentBody(kept: KeptBody, outcome: Rewrite | undefined, entry: Entry): BodyView {
  if (outcome === undefined) return bodyView(kept, entry.bytesOut);
  if (outcome.verdict === 'refused') return { state: 'none', bytes: 0 };
  return bodyView({ ...kept, bytes: outcome.body }, entry.bytesOut);
}

function bodyView({ state, bytes, note }: KeptBody, size: number): BodyView {
  const text = bytes === undefined ? undefined : (layOutJson(bytes)?.text ?? decoder.decode(bytes));
  return {
    state,
    ...(text === undefined ? {} : { text }),
    bytes: size,
    ...(note === undefined ? {} : { note }),
  };
}

function requestView(
  { method, target }: KeptHead,
  headers: RequestView['headers'],
  body: BodyView,
): RequestView {
  return { method, target, headers, body };
}

function responseView(
  { status, body, bodyBytes }: KeptResponse,
  headers: ResponseView['headers'],
): ResponseView {
  return { status, headers, body: bodyView(body, bodyBytes) };
}

/** The gateway as the client addressed it. */
function gatewayOrigin({ headers }: KeptHead): string {
  const host = headers.find(({ name }) => name.toLowerCase() === 'host' || name === ':authority')?.value;
  return `http://${host ?? '127.0.0.1:8080'}`;
}
