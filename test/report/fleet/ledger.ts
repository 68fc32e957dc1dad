import { headerValue } from '../../../src/http/header-list.ts';
import type { FleetResponse } from './memory-exchange.ts';
import type { PlannedRequest } from './requests.ts';
import { ADDRESS } from '../../../bench/v2-order.ts';

/** One exchange as the client knows it: its request by its character, and the response that it received. */
export interface LedgerLine {
  /** RFC 3339. */
  readonly time: string;
  readonly day: number;
  /** The client's hash. */
  readonly client: string;
  readonly version: 'v1' | 'v2';
  /** Operation id of the rule book, or method and path. */
  readonly call: string;
  readonly isRead: boolean;
  readonly operation: string | undefined;
  /** Changes that the request needs; none when it is refused. */
  readonly changes: readonly string[];
  readonly foreign: readonly string[];
  /** Failure code with which the gateway refuses it, or would. */
  readonly refusal: string | undefined;
  readonly by: 'v1' | 'v2' | 'gateway';
  readonly status: number;
  readonly code: string | undefined;
  readonly invalidVersion: boolean;
  /** Members of the response that V2 has elsewhere. */
  readonly differing: readonly string[];
}

/** Writes down an exchange. */
export function ledgerLine(
  planned: PlannedRequest,
  response: FleetResponse,
  facts: Pick<LedgerLine, 'time' | 'day' | 'client' | 'call' | 'invalidVersion'>,
  strippedAs: (attribute: string) => string | undefined,
): LedgerLine {
  const code = headerValue(response.headers, 'x-gateway-error');
  const service = headerValue(response.headers, 'x-fleet-service');
  const by = code !== undefined ? 'gateway' : service === 'v1' ? 'v1' : 'v2';
  const isFromGateway = by === 'gateway';
  const stripped = planned.foreign.flatMap((name) => strippedAs(name) ?? []);
  return {
    ...facts,
    version: planned.version,
    isRead: planned.method === 'GET',
    operation: planned.operation,
    changes: isFromGateway ? [] : [...planned.changes, ...new Set(stripped)],
    foreign: planned.foreign,
    refusal: planned.refusal,
    by,
    status: response.status,
    code,
    differing: planned.version === 'v1' ? differing(response, planned, strippedAs) : [],
  };
}

/** A member that only V1's responses have: it is not known before V2 responds whether V2 has it as well. */
export const DEPRECATIONS = '/data/deprecations';

/** Members that a report must name: V2's own responses show them, and the request rules those of writes that V1 responded to. */
export function knowable(lines: readonly LedgerLine[]): ReadonlySet<string> {
  return new Set(
    lines.flatMap(({ isRead, by, differing: members }) => {
      if (by === 'v2') return members;
      return isRead ? [] : members.filter((pointer) => pointer !== DEPRECATIONS);
    }),
  );
}

/** Members of V1's responses that V2 has elsewhere, or that the rule book of the day says it does not have. */
function differing(
  { status, body }: FleetResponse,
  { path, method }: PlannedRequest,
  strippedAs: (attribute: string) => string | undefined,
): string[] {
  if (status < 200 || status > 299 || body.length === 0) return [];
  const found = new Set<string>();
  walk(JSON.parse(new TextDecoder().decode(body)), '', (pointer) => {
    const steps = pointer.split('/');
    const last = steps.at(-1) ?? '';
    const isMoved = last === 'transition_type' || (ADDRESS.includes(last) && steps.at(-2) === 'property');
    const isRemoved = method === 'POST' && steps.length === 3 && strippedAs(last) !== undefined;
    if ((path.startsWith('/orders/') && isMoved) || isRemoved || pointer === DEPRECATIONS) found.add(pointer);
  });
  return [...found];
}

function walk(value: unknown, at: string, look: (pointer: string) => void): void {
  if (typeof value !== 'object' || value === null) return;
  for (const [name, member] of Object.entries(value)) {
    const pointer = `${at}/${Array.isArray(value) ? '*' : name}`;
    look(pointer);
    walk(member, pointer, look);
  }
}
