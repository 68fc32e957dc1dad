import type { BreakerState } from './circuit-breaker.ts';
import type { UpstreamFault } from './upstream.ts';

/** An event on the hop to an origin, reported to operators outside the rewrite log. */
export type GatewayNotice =
  | {
      readonly event: 'circuit-opened' | 'circuit-closed';
      readonly origin: 'v1' | 'v2';
    }
  | { readonly event: 'upstream-fault'; readonly origin: 'v1' | 'v2'; readonly fault: UpstreamFault };

/** A notice as a line of the process log; notices with the same `key` are repetitions of one another. */
export interface NoticeLine {
  readonly level: 'info' | 'warn' | 'error';
  readonly event: GatewayNotice['event'];
  readonly key: string;
  readonly message: string;
  readonly fields: Readonly<Record<string, string | boolean>>;
}

/** Formats a notice as a sentence with machine-readable fields. */
export function noticeLine(notice: GatewayNotice): NoticeLine {
  const { event, origin } = notice;
  const name = origin.toUpperCase();
  if (event === 'upstream-fault') {
    const { kind, cause, sent } = notice.fault;
    const reached = sent ? 'the request may have reached it' : 'nothing was sent';
    return {
      level: 'warn',
      event,
      key: `${event} ${origin} ${kind} ${cause} ${sent}`,
      message: `upstream: ${name} failed (${kind}, ${cause}); ${reached}.`,
      fields: { origin, kind, cause, sent },
    };
  }
  const isOpen = event === 'circuit-opened';
  return {
    level: isOpen ? 'error' : 'info',
    event,
    key: `${event} ${origin}`,
    message: isOpen
      ? `circuit: open; ${name} keeps failing, and requests get 503 until it responds to a probe.`
      : `circuit: closed; ${name} responds again.`,
    fields: { origin },
  };
}

/** Returns the notice for a change of the circuit's state; probing has none. */
export function circuitNotice(
  origin: 'v1' | 'v2',
  before: BreakerState,
  after: BreakerState,
): GatewayNotice | undefined {
  if (before === 'closed' && after === 'open') return { event: 'circuit-opened', origin };
  if (before !== 'closed' && after === 'closed') return { event: 'circuit-closed', origin };
  return undefined;
}
