import { acceptedCodings, ALL_CODINGS, type Coding } from '../http/content-coding.ts';
import { BODY_USES, type FieldUse, useOfName } from '../http/field-use.ts';
import type { HeaderList } from '../http/header-list.ts';
import type { ForwardedFields, RequestHead } from '../http/request-head.ts';
import { setField } from '../http/set-field.ts';
import { isRequestId } from '../http/trace-context.ts';
import type { CompiledRuleBook } from '../rewrite/compiled-rule-book.ts';
import { type ApiVersion, chooseApiVersion } from './api-version.ts';
import { representationPlan, type RequestFacts } from './v1-response.ts';

/** The inputs that determine the header fields of a migrated request. */
export interface HeadMigration {
  readonly version: ApiVersion;
  /** True when the body was rewritten, so that fields that describe the original body are left out. */
  readonly isRewritten: boolean;
  /** The id to send if the client's is absent or invalid; undefined leaves the field as received. */
  readonly requestId?: string | undefined;
  /** True when the client's `traceparent` is valid, so that its trace continues. */
  readonly hasTrace: boolean;
  /** The `traceparent` to send if the client's is absent or invalid; undefined leaves the field as received. */
  readonly traceparent?: string | undefined;
  /**
   * The codings that the response may have, so that it can be rewritten; undefined where it is not, and leaves `Accept-Encoding` and
   * `Range` as received.
   */
  readonly codings?: readonly Coding[] | undefined;
}

/** The inputs of {@link migrateHead}. */
export interface MigratedHeadParts extends Omit<HeadMigration, 'version' | 'codings'> {
  readonly rules: CompiledRuleBook;
  readonly request: RequestFacts;
  /** Time in milliseconds since 1970. */
  readonly now: number;
  /** The release pinned for the request, if any. */
  readonly pinned?: string | undefined;
  /** The content codings that the runtime decodes; all by default. */
  readonly codings?: readonly Coding[] | undefined;
}

/**
 * Returns the header fields of a migrated request, and the dated release that it asks for. Live exchanges, explanations and the library
 * all call it, so that none of them can differ from the others.
 */
export function migrateHead(
  received: RequestHead,
  parts: MigratedHeadParts,
): { readonly version: ApiVersion; readonly fields: MigratedHead } {
  const { rules, request, now, pinned, isRewritten, requestId, hasTrace, traceparent } = parts;
  const version = chooseApiVersion(received.apiVersion, rules.ruleBook, now, pinned);
  // Where no response rule can apply, V2's response may have any coding.
  const codings = representationPlan(request, rules).isEmpty ? undefined : (parts.codings ?? ALL_CODINGS);
  const migration = { version, isRewritten, requestId, hasTrace, traceparent, codings };
  return { version, fields: new MigratedHead(received, migration) };
}

/** The header fields of a migrated request. */
export class MigratedHead implements ForwardedFields {
  private readonly received: RequestHead;
  private readonly isRewritten: boolean;
  private readonly isResponseRewritten: boolean;
  private readonly hasTrace: boolean;
  /** The fields that are set; undefined leaves one as received. */
  private readonly version: string | undefined;
  private readonly requestId: string | undefined;
  private readonly traceparent: string | undefined;
  private readonly acceptEncoding: string | undefined;
  private readonly ifMatch: string | undefined;
  private list: HeaderList | undefined = undefined;

  constructor(received: RequestHead, migration: HeadMigration) {
    const { version, isRewritten, requestId, hasTrace, traceparent, codings } = migration;
    this.received = received;
    this.isRewritten = isRewritten;
    this.isResponseRewritten = codings !== undefined;
    this.hasTrace = hasTrace;
    this.version = version.why === 'client' ? undefined : version.sent;
    this.requestId = isRequestId(received.requestId) ? undefined : requestId;
    this.traceparent = hasTrace ? undefined : traceparent;
    const { acceptEncoding: accepted, ifMatch } = received;
    // The gateway weakens V2's tags, and a weak one never matches (RFC 9110 §13.1.1).
    const strong = ifMatch?.replaceAll(/(?:W\/)?("[^"]*")/g, '$1');
    this.ifMatch = strong === ifMatch ? undefined : strong;
    const readable =
      accepted === undefined || codings === undefined ? accepted : acceptedCodings(accepted, codings);
    this.acceptEncoding = readable === accepted ? undefined : readable;
  }

  get forwardedHeaders(): HeaderList {
    this.list ??= this.listed();
    return this.list;
  }

  get forwardedLines(): string | undefined {
    const { received, version, requestId, traceparent } = this;
    // A field that is replaced keeps its place.
    if (this.acceptEncoding !== undefined || this.ifMatch !== undefined) return undefined;
    if (version !== undefined && received.apiVersion !== undefined) return undefined;
    if (requestId !== undefined && received.requestId !== undefined) return undefined;
    if (traceparent !== undefined && received.traceparent !== undefined) return undefined;
    const kept = received.keptLines(this.isKept);
    if (kept === undefined) return undefined;
    return `${kept}${line('x-api-version', version)}${line('x-request-id', requestId)}${line('traceparent', traceparent)}`;
  }

  private readonly isKept = (use: FieldUse): boolean => {
    // A part of V2's body is none of V1's (RFC 9110 §14.2 allows the whole).
    if (use === 'range') return !this.isResponseRewritten;
    // The state of a trace that is not continued does not apply to the new one (W3C Trace Context §3.3).
    if (use === 'tracestate') return this.hasTrace;
    return !this.isRewritten || !BODY_USES.has(use);
  };

  private listed(): HeaderList {
    const { forwardedHeaders } = this.received;
    const headers: string[] = [];
    for (let at = 0; at < forwardedHeaders.length; at += 2) {
      const name = forwardedHeaders[at] ?? '';
      if (this.isKept(useOfName(name))) headers.push(name, forwardedHeaders[at + 1] ?? '');
    }
    const { version, requestId, traceparent, acceptEncoding, ifMatch } = this;
    if (acceptEncoding !== undefined) setField(headers, 'accept-encoding', acceptEncoding);
    if (ifMatch !== undefined) setField(headers, 'if-match', ifMatch);
    if (version !== undefined) setField(headers, 'x-api-version', version);
    if (requestId !== undefined) setField(headers, 'x-request-id', requestId);
    if (traceparent !== undefined) setField(headers, 'traceparent', traceparent);
    return headers;
  }
}

function line(name: string, value: string | undefined): string {
  return value === undefined ? '' : `${name}: ${value}\r\n`;
}
