import type { Difference } from './difference.ts';
import type { PairedIds } from './paired-ids.ts';
import type { TwinResponse } from './sender.ts';

/** Fields of responses that are not compared, each with the reason. Every other field is. */
export const FIELDS_LEFT_OUT: ReadonlyMap<string, string> = new Map([
  ['date', 'the clock'],
  ['connection', 'of one connection (RFC 9110 §7.6.1), not of the response'],
  ['keep-alive', 'of one connection'],
  ['transfer-encoding', 'framing; the body itself is compared'],
  ['content-length', 'framing; the body itself is compared'],
  ['content-encoding', 'the body is compared decoded'],
  ['alt-svc', 'of the server, not of the response'],
  ['server', 'of the server, not of the response'],
  ['via', 'of the path to the service'],
  ['x-request-id', 'new for each request'],
  ['x-runtime', 'a measurement'],
  ['x-api-version', 'V2 names its release; V1 has no such field'],
  ['x-gateway-error', 'tells refusals of the gateway from those of V2'],
]);

/** Fields that are not compared in refusals of the gateway itself, each with the reason. */
export const FIELDS_OF_REFUSALS: ReadonlyMap<string, string> = new Map([
  ['accept-encoding', 'the codings that the runtime of the gateway can decode'],
]);

/** The two origins, whose names in links are alike. */
export interface Origins {
  readonly v1: string;
  readonly gateway: string;
}

/** Compares the fields of two responses, value by value, in order; `ignored` names are left out as well, in lower case. */
export function compareFields(
  v1: TwinResponse,
  gateway: TwinResponse,
  ids: PairedIds,
  origins: Origins,
  ignored: ReadonlySet<string>,
): readonly Difference[] {
  const isRefusal = gateway.headers.some(([name]) => name.toLowerCase() === 'x-gateway-error');
  const left = isRefusal ? new Set([...ignored, ...FIELDS_OF_REFUSALS.keys()]) : ignored;
  const [ones, others] = [fieldsOf(v1, left, origins.v1), fieldsOf(gateway, left, origins.gateway)];
  const differences: Difference[] = [];
  for (const name of new Set([...ones.keys(), ...others.keys()])) {
    const [value, other] = [ones.get(name), others.get(name)];
    const where = `${name}:`;
    if (other === undefined) differences.push({ where, kind: 'missing', v1: value ?? '' });
    else if (value === undefined) differences.push({ where, kind: 'extra', gateway: other });
    else if (!ids.agreeInText(value, other))
      differences.push({ where, kind: 'value', v1: value, gateway: other });
  }
  return differences;
}

function fieldsOf(
  { headers }: TwinResponse,
  ignored: ReadonlySet<string>,
  origin: string,
): ReadonlyMap<string, string> {
  const fields = new Map<string, string>();
  for (const [spelled, value] of headers) {
    const name = spelled.toLowerCase();
    if (FIELDS_LEFT_OUT.has(name) || ignored.has(name)) continue;
    const before = fields.get(name);
    const own = value.replaceAll(`${origin}/`, '/');
    fields.set(name, before === undefined ? own : `${before}, ${own}`);
  }
  return fields;
}
