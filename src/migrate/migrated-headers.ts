import { withoutBodyFields } from '../http/body-fields.ts';
import type { RequestHead } from '../http/request-head.ts';
import { removeField, setField } from '../http/set-field.ts';
import { isRequestId } from '../http/trace-context.ts';
import type { ApiVersion } from './api-version.ts';

/** Everything that decides the header fields of a migrated request. */
export interface MigratedHead {
  readonly version: ApiVersion;
  /** True when the body was rewritten, so that fields that describe the old one are left out. */
  readonly isRewritten: boolean;
  /** The id to send where the client gave no valid one; undefined leaves the field as it came. */
  readonly requestId?: string | undefined;
  /** True when the client's `traceparent` is valid, and its trace goes on. */
  readonly hasTrace: boolean;
  /** The `traceparent` to send where the client gave no valid one; undefined leaves the field as it came. */
  readonly traceparent?: string | undefined;
}

/** Returns the header fields of a migrated request. The list is the caller's own, to add to. */
export function migratedHeaders(head: RequestHead, migrated: MigratedHead): string[] {
  const { version, isRewritten, requestId, hasTrace, traceparent } = migrated;
  const { forwardedHeaders } = head;
  const headers = isRewritten ? withoutBodyFields(forwardedHeaders) : [...forwardedHeaders];
  if (version.why !== 'client') setField(headers, 'x-api-version', version.sent);
  if (requestId !== undefined && !isRequestId(head.requestId)) setField(headers, 'x-request-id', requestId);
  if (hasTrace) return headers;
  if (traceparent !== undefined) setField(headers, 'traceparent', traceparent);
  // The state of a trace that was not taken over says nothing of the new one (W3C Trace Context §3.3).
  removeField(headers, 'tracestate');
  return headers;
}
