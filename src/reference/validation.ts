import type * as z from 'zod';
import { Refusal, type Fault } from './envelope.ts';
import { ADDRESS_ATTRIBUTES } from './schemas.ts';
import type { Attributes } from './store.ts';

/**
 * Returns the attributes in `parameters` that `schema` accepts; throws a 422 with a pointer to each rejected one. `at` is the
 * path of the parameters in the body.
 */
export function acceptAttributes(
  schema: z.ZodObject,
  parameters: unknown,
  at: readonly string[] = [],
): Attributes {
  const outcome = schema.safeParse(parameters, { reportInput: true });
  if (outcome.success) return outcome.data;
  const faults = outcome.error.issues.flatMap((issue) => issueFaults(schema, issue, at));
  throw new Refusal(422, faults.slice(0, MAX_FAULTS));
}

/** A hostile body can hold a million unknown names; only the first few are reported. */
const MAX_FAULTS = 20;

function issueFaults(schema: z.ZodObject, issue: z.core.$ZodIssue, at: readonly string[]): Fault[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.slice(0, MAX_FAULTS).map((key) => ({
      detail: unknownDetail(schema, issue.path, key),
      source: { pointer: pointer([...at, ...issue.path, key]) },
    }));
  }
  return [{ detail: invalidDetail(issue), source: { pointer: pointer([...at, ...issue.path]) } }];
}

/** Names V2's replacement for a V1 attribute. */
function unknownDetail(schema: z.ZodObject, path: readonly PropertyKey[], key: string): string {
  const atRoot = path.length === 0;
  if (atRoot && key === 'data') return 'V2 bodies are flat: send the members of data at the top level.';
  if (atRoot && key === 'transition_type' && 'highlight_type' in schema.shape) {
    return 'transition_type is called highlight_type in V2.';
  }
  const onProperty = path.at(-1) === 'property' || (atRoot && 'address' in schema.shape);
  if (onProperty && ADDRESS_ATTRIBUTES.some((name) => name === key)) {
    return `${key} belongs in the address object of the property in V2.`;
  }
  return `${key} is not an attribute that V2 has here.`;
}

function invalidDetail(issue: z.core.$ZodIssue): string {
  const name = issue.path.length === 0 ? 'The body' : issue.path.join('.');
  if (issue.code === 'invalid_type') {
    return issue.input === undefined && issue.path.length > 0
      ? `${name} is required.`
      : `${name} must be ${WANTED[issue.expected] ?? issue.expected}.`;
  }
  return `${name} is out of range: ${issue.message}.`;
}

const WANTED: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  object: 'an object',
  array: 'an array',
};

function pointer(path: readonly PropertyKey[]): string {
  return path.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}
