import type * as z from 'zod';
import { Refusal, type Fault } from './envelope.ts';
import { isObject } from './is-object.ts';
import type { Attributes } from './store.ts';

/** The context of parameters that are validated. */
interface ParameterContext {
  /** The path of the parameters in the body. */
  readonly at: readonly string[];
  /** The sentence about an unknown attribute; `path` is the path of the object that has it, in the parameters. */
  readonly unknown: (path: readonly PropertyKey[], key: string) => string;
}

/** Returns the attributes in `parameters` that `schema` accepts; throws a 422 with a pointer to each rejected one. */
export function acceptAttributes(
  schema: z.ZodObject,
  parameters: unknown,
  context: ParameterContext,
): Attributes {
  const outcome = schema.safeParse(parameters, { reportInput: true });
  if (outcome.success) return outcome.data;
  const faults = outcome.error.issues.flatMap((issue) => issueFaults(issue, context));
  throw new Refusal(422, faults.slice(0, MAX_FAULTS));
}

/**
 * Returns the parameters of a body and their path: the object in the member `wrapper`, and the members beside it are ignored; the
 * body itself if it has no such member, or bodies have no wrapper. Throws a 422 when the member is not an object.
 */
export function parametersOf(
  body: unknown,
  wrapper: string | undefined,
): Pick<ParameterContext, 'at'> & { readonly parameters: unknown } {
  if (wrapper === undefined || !isObject(body) || !Object.hasOwn(body, wrapper))
    return { parameters: body, at: [] };
  const parameters = body[wrapper];
  if (isObject(parameters)) return { parameters, at: [wrapper] };
  const pointer = `/${wrapper}`;
  throw new Refusal(422, [{ detail: `${wrapper} must be an object.`, source: { pointer } }]);
}

/** A hostile body can hold a million unknown names; only the first few are reported. */
const MAX_FAULTS = 20;

function issueFaults(issue: z.core.$ZodIssue, { at, unknown }: ParameterContext): Fault[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.slice(0, MAX_FAULTS).map((key) => ({
      detail: unknown(issue.path, key),
      source: { pointer: pointerOf([...at, ...issue.path, key]) },
    }));
  }
  return [{ detail: invalidDetail(issue), source: { pointer: pointerOf([...at, ...issue.path]) } }];
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

function pointerOf(path: readonly PropertyKey[]): string {
  return path.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}
