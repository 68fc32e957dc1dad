import { rewrittenResponseFields } from '../http/body-fields.ts';
import type { Coding } from '../http/content-coding.ts';
import type { HeaderList } from '../http/header-list.ts';
import { endToEnd } from '../http/hop-by-hop.ts';
import { decideResponse, NOTE_OF_UNDECODED, type ResponseNote } from '../migrate/decide-response.ts';
import type { DecodedBody } from '../migrate/decoded-body.ts';
import { rewriteLinks } from '../migrate/rewrite-links.ts';
import { contentlessFields, type RequestFacts, restoredQuery } from '../migrate/v1-response.ts';
import type { CompiledRuleBook } from '../rewrite/compiled-rule-book.ts';
import type { SignalHeaders } from '../rollout/signal-headers.ts';
import { type HeaderFields, headerFieldsOf } from './header-fields.ts';
import type { MigratedRequestHead } from './request-verdict.ts';
import type { ResponseVerdict, UnchangedResponseVerdict } from './response-verdict.ts';
import type { CollectedResponse, StartedResponse } from './started-response.ts';

/** The parts of a migrated request that its response depends on. */
export type RequestOfResponse = Pick<MigratedRequestHead, 'method' | 'target' | 'host' | 'edits'>;

/** The parts of the response to a V1 client. */
export interface V1ResponseParts {
  readonly rules: CompiledRuleBook;
  readonly signals: SignalHeaders | undefined;
  readonly request: RequestOfResponse;
  readonly status: number;
  readonly headers: HeaderList;
}

/** Starts a response: one that no rule concerns, or that cannot be rewritten, is complete but for its body. */
export function startV1Response(parts: V1ResponseParts): StartedResponse {
  const { rules, request, status, headers } = parts;
  const { method, operation } = requestFacts(parts);
  const plan = rules.responsePlan(operation, method);
  const deprecated = rules.deprecatedAttributes.inV1(request.edits);
  if (method === 'HEAD' || !plan.appliesTo(status, deprecated.length > 0)) return forward(parts, undefined);
  const decided = decideResponse(status, headers, rules.ruleBook.limits.response);
  if (decided.action === 'forward') return forward(parts, decided.note);
  return new CollectedV1Response(parts, decided.coding);
}

/** A response that rules apply to. */
class CollectedV1Response implements CollectedResponse {
  readonly action = 'collect';
  readonly coding: Coding | undefined;
  readonly limit: number;
  private readonly parts: V1ResponseParts;

  constructor(parts: V1ResponseParts, coding: Coding | undefined) {
    this.parts = parts;
    this.coding = coding;
    this.limit = parts.rules.ruleBook.limits.response;
  }

  get unchanged(): UnchangedResponseVerdict {
    return unchanged(this.parts, null, undefined);
  }

  finish(decoded: DecodedBody, received?: Uint8Array): ResponseVerdict {
    const { parts } = this;
    const { rules, request, status, headers } = parts;
    if (typeof decoded === 'string') return unchanged(parts, received ?? null, NOTE_OF_UNDECODED[decoded]);
    const { method, operation } = requestFacts(parts);
    const context = rules.responseContext(status, request.edits);
    const outcome = rules.responsePlan(operation, method).rewrite(decoded, context);
    if (outcome.verdict === 'unchanged') return unchanged(parts, received ?? decoded, outcome.note);
    const { body, records: edits, patch, omitted } = outcome;
    const fields = clientFields(parts, rewrittenResponseFields(headers, body.length));
    return { verdict: 'rewritten', status, headers: fields, body, edits, patch, omitted };
  }
}

function forward(parts: V1ResponseParts, note: ResponseNote | undefined): StartedResponse {
  return { action: 'forward', unchanged: unchanged(parts, null, note) };
}

function unchanged(
  parts: V1ResponseParts,
  body: Uint8Array | null,
  note: ResponseNote | undefined,
): UnchangedResponseVerdict {
  const { status, headers } = parts;
  const fields = clientFields(parts, headers);
  return { verdict: 'unchanged', status, headers: fields, body: body?.length === 0 ? null : body, note };
}

/** Returns the header fields for the client: links lead to V1, and the end of V1 is announced in the final ones. */
function clientFields(parts: V1ResponseParts, headers: HeaderList): HeaderFields {
  const { rules, signals, request, status } = parts;
  const facts = requestFacts(parts);
  const fields = [...contentlessFields(facts, rules, status, endToEnd(headers, true))];
  rewriteLinks(fields, {
    upstreamHosts: request.host === undefined ? [] : [request.host],
    upstreamPath: '',
    prefix: '/api/v2',
    gateway: 'same-origin',
    restoreQuery: (path, query) => restoredQuery(facts, rules, path, query),
  });
  if (status >= 200) signals?.addTo(fields, rules.deprecatedAttributes.of(request.edits));
  return headerFieldsOf(fields);
}

/** The path of a request is the same in V1 and V2, so that the operation follows from the migrated target. */
function requestFacts({ rules, request }: V1ResponseParts): RequestFacts {
  const { method, target } = request;
  const [path = ''] = target.split('?', 1);
  const rest = path.slice('/api/v2'.length);
  return { method, rest, operation: rules.match(method, rest) };
}
