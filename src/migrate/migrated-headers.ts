import { withoutBodyFields } from '../http/body-fields.ts';
import type { RequestHead } from '../http/request-head.ts';
import { removeField, setField } from '../http/set-field.ts';
import { isRequestId } from '../http/trace-context.ts';
import type { ApiVersion } from './api-version.ts';

/** The inputs that determine the header fields of a migrated request. */
export interface MigratedHead {
  readonly version: ApiVersion;
  /** True when the body was rewritten, so that fields that describe the original body are left out. */
  readonly isRewritten: boolean;
  /** The id to send if the client's is absent or invalid; undefined leaves the field as received. */
  readonly requestId?: string | undefined;
  /** True when the client's `traceparent` is valid, so that its trace continues. */
  readonly hasTrace: boolean;
  /** The `traceparent` to send if the client's is absent or invalid; undefined leaves the field as received. */
  readonly traceparent?: string | undefined;
}

/** Returns the header fields of a migrated request. The caller owns the list and may add to it. */
export function migratedHeaders(head: RequestHead, migrated: MigratedHead): string[] {
  const { version, isRewritten, requestId, hasTrace, traceparent } = migrated;
  const { forwardedHeaders } = head;
  const headers = isRewritten ? withoutBodyFields(forwardedHeaders) : [...forwardedHeaders];
  if (version.why !== 'client') setField(headers, 'x-api-version', version.sent);
  if (requestId !== undefined && !isRequestId(head.requestId)) setField(headers, 'x-request-id', requestId);
  if (hasTrace) return headers;
  if (traceparent !== undefined) setField(headers, 'traceparent', traceparent);
  // The state of a trace that is not continued does not apply to the new one (W3C Trace Context §3.3).
  removeField(headers, 'tracestate');
  return headers;
}
