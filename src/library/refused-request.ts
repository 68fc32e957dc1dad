import type { Failure } from '../migrate/failure.ts';
import type { SignalHeaders } from '../rollout/signal-headers.ts';
import { headerFieldsOf } from './header-fields.ts';
import type { RefusedRequest } from './request-verdict.ts';

/** Returns the refusal for a failure; `signals` are the header fields of responses to V1 clients. */
export function refusedRequest(failed: Failure, signals: SignalHeaders | undefined): RefusedRequest {
  const { status, code, detail, pointer, position } = failed;
  const body = new TextEncoder().encode(failed.envelope());
  const headers = ['Content-Type', 'application/json', 'Content-Length', String(body.length)];
  headers.push('x-gateway-error', code, ...failed.headers);
  signals?.addTo(headers, []);
  return {
    verdict: 'refused',
    status,
    headers: headerFieldsOf(headers),
    body,
    code,
    detail,
    pointer,
    position,
  };
}
