import { didYouMean, type SourceFault, type SourcePath } from './rule-book-fault.ts';

/** The form of the gateway's own errors that a rule book declares: a named one, or a template. `json-api` if it declares none. */
export type RefusalForm = 'problem' | 'rails' | RefusalTemplate;

/** An operator's own body for the gateway's errors. */
export interface RefusalTemplate {
  /** The media type of the body. */
  readonly type: string;
  /** A value of JSON; its texts and names may have placeholders. */
  readonly body: unknown;
}

/** The placeholders of a template. */
export const REFUSAL_PLACEHOLDERS = [
  // A number if nothing is beside it.
  'status',
  'status-text',
  // As in x-gateway-error.
  'code',
  // The name of the status.
  'title',
  // One sentence about this case.
  'detail',
  // The pointer into V1's body.
  'pointer',
  // The same as a name: items[0].name.
  'field',
  // The id of the request in the log.
  'id',
] as const;

/** A placeholder of a template, without its braces. */
export type RefusalPlaceholder = (typeof REFUSAL_PLACEHOLDERS)[number];

/** A text split at its placeholders, whose names are at odd positions. */
export function splitPlaceholders(text: string): readonly string[] {
  return text.split(/\{([A-Za-z][\w-]*)\}/);
}

export function isPlaceholder(name: string): name is RefusalPlaceholder {
  return REFUSAL_PLACEHOLDERS.some((known) => known === name);
}

/** Finds placeholders that do not exist, in texts and in names. */
export function templateFaults(template: unknown, path: SourcePath): readonly SourceFault[] {
  if (typeof template === 'string') return placeholderFaults(template, path);
  if (typeof template !== 'object' || template === null) return [];
  const isList = Array.isArray(template);
  return Object.entries(template).flatMap(([name, value]) => [
    ...(isList ? [] : placeholderFaults(name, [...path, name], 'key')),
    ...templateFaults(value, [...path, isList ? Number(name) : name]),
  ]);
}

function placeholderFaults(text: string, path: SourcePath, blame?: 'key'): readonly SourceFault[] {
  const list = REFUSAL_PLACEHOLDERS.map((name) => `{${name}}`).join(', ');
  return splitPlaceholders(text)
    .filter((name, at) => at % 2 === 1 && !isPlaceholder(name))
    .map((name) => ({
      path,
      blame,
      message: `{${name}} is not a placeholder${didYouMean(name, REFUSAL_PLACEHOLDERS) || `; known: ${list}`}`,
    }));
}
