import type { OutputUnit } from '@cfworker/json-schema';
import { memberOf } from './json-object.ts';

/** A reason why V2's schema refuses a body. */
export interface SchemaFault {
  /** RFC 6901 pointer to the value that its schema refuses. */
  readonly pointer: string;
  /** Pointer to the cause: where a member is missing or not known, to that member. */
  readonly at: string;
  readonly reason: string;
}

/** The value that stands for one that was not recorded. */
const MASKED = '…';

/** The innermost reasons among the errors of a validator, in its order, without those about masked values. */
export function schemaFaults(errors: readonly OutputUnit[], body: unknown): readonly SchemaFault[] {
  const innermost = errors.filter((error) => isInnermost(error, errors));
  const faults = innermost.map((error) => faultOf(error, errors));
  // A masked value of the other branch tells which branch was meant, too.
  return innermost.flatMap((error, at) => {
    const fault = faults[at];
    return fault === undefined || isMasked(error, body) || isOtherBranch(fault, faults) ? [] : fault;
  });
}

function isInnermost(error: OutputUnit, errors: readonly OutputUnit[]): boolean {
  if (error.keyword === 'false') return false;
  return !errors.some(
    (other) =>
      other !== error &&
      other.keyword !== 'false' &&
      other.keywordLocation.startsWith(`${error.keywordLocation}/`),
  );
}

function isMasked({ instanceLocation, keyword }: OutputUnit, body: unknown): boolean {
  if (keyword === 'additionalProperties' || keyword === 'required') return false;
  return valueAt(instanceLocation, body) === MASKED;
}

function valueAt(location: string, body: unknown): unknown {
  return location
    .split('/')
    .slice(1)
    .map((step) => decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>(
      (value, name) => (Array.isArray(value) ? value[Number(name)] : memberOf(value, name)),
      body,
    );
}

/** A value that is not null fails the branch for null of its alternatives, too; the other branch says why it is refused. */
function isOtherBranch({ pointer, reason }: SchemaFault, faults: readonly SchemaFault[]): boolean {
  if (!reason.endsWith('Expected "null".')) return false;
  return faults.some((other) => other.reason !== reason && `${other.pointer}/`.startsWith(`${pointer}/`));
}

function faultOf(error: OutputUnit, errors: readonly OutputUnit[]): SchemaFault {
  const pointer = pointerOf(error.instanceLocation);
  return { pointer, at: causeOf(error, errors) ?? pointer, reason: error.error };
}

/** The member that is missing or that no schema allows; undefined for a fault of the value itself. */
function causeOf(error: OutputUnit, errors: readonly OutputUnit[]): string | undefined {
  const { keyword, instanceLocation } = error;
  if (keyword === 'required') {
    const name = /^Instance does not have required property "([^]*)"\.$/.exec(error.error)?.[1];
    return name && `${pointerOf(instanceLocation)}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
  }
  // The member's own error follows: its schema is `false`.
  const member = errors[errors.indexOf(error) + 1];
  return keyword.endsWith('Properties') && member?.keyword === 'false'
    ? pointerOf(member.instanceLocation)
    : undefined;
}

/** The validator locates values in fragments of URIs (RFC 6901 §6). */
function pointerOf(location: string): string {
  return decodeURIComponent(location.replace(/^#/, ''));
}
