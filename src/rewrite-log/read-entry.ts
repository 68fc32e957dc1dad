import type { Entry } from './entry.ts';

/** Members of an entry that had other names before 1.0: logs are kept for longer than that. */
const FORMER_NAMES = {
  answerEdits: 'responseEdits',
  answerNote: 'responseNote',
  answerBytes: 'responseBytes',
} as const;

/** Reads a parsed line of the log as an entry, also one of an older gateway; undefined when it is not an entry. */
export function readEntry(value: unknown): Entry | undefined {
  const renamed = withNewNames(value);
  return isEntry(renamed) ? renamed : undefined;
}

function withNewNames(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('answerBytes' in value)) return value;
  const members = Object.entries(value).map(([name, member]) => [newName(name), newNote(name, member)]);
  return Object.fromEntries(members);
}

function newName(name: string): string {
  return Object.hasOwn(FORMER_NAMES, name) ? Reflect.get(FORMER_NAMES, name) : name;
}

/** Notes used `answer-too-large` instead of `response-too-large`. */
function newNote(name: string, member: unknown): unknown {
  return name === 'answerNote' && typeof member === 'string'
    ? member.replace(/^answer-/, 'response-')
    : member;
}

/** True for a value with the members that every entry has, and no wrong types that readers rely on. */
function isEntry(value: unknown): value is Entry {
  if (typeof value !== 'object' || value === null) return false;
  const members: Partial<Record<keyof Entry, unknown>> = value;
  const { edits, would, comparison } = members;
  return (
    TEXTS.every((name) => typeof members[name] === 'string') &&
    NUMBERS.every((name) => typeof members[name] === 'number') &&
    OPTIONAL_TEXTS.every((name) => ['undefined', 'string'].includes(typeof members[name])) &&
    OPTIONAL_NUMBERS.every((name) => ['undefined', 'number'].includes(typeof members[name])) &&
    (would === undefined || isWould(would)) &&
    (comparison === undefined ||
      (hasVerdict(comparison) && 'differences' in comparison && Array.isArray(comparison.differences))) &&
    Array.isArray(edits) &&
    edits.every((edit: unknown) => isEdit(edit))
  );
}

const TEXTS = ['time', 'requestId', 'route', 'method', 'path', 'verdict', 'ruleBook'] as const;
const NUMBERS = ['status', 'totalMs'] as const;
const OPTIONAL_TEXTS = [
  'client',
  'operation',
  'mode',
  'origin',
  'upstreamPath',
  'failure',
  'cause',
  'note',
  'pointer',
] as const;
const OPTIONAL_NUMBERS = ['upstreamMs', 'editsOmitted', 'attempts', 'heldMs'] as const;

function hasVerdict(value: unknown): value is { readonly verdict: string } {
  return (
    typeof value === 'object' && value !== null && 'verdict' in value && typeof value.verdict === 'string'
  );
}

/** A log may come from a newer gateway: other words are kept, other types are not. */
function isWould(value: unknown): boolean {
  if (!hasVerdict(value)) return false;
  return (['failure', 'v2', 'at', 'why'] as const).every((name) =>
    ['undefined', 'string'].includes(typeof Reflect.get(value, name)),
  );
}

function isEdit(value: unknown): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    'change' in value &&
    typeof value.change === 'string' &&
    'rule' in value &&
    typeof value.rule === 'string'
  );
}
