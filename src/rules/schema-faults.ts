import type * as z from 'zod';
import { didYouMean } from './did-you-mean.ts';
import type { SourceFault, SourcePath } from './rule-book-fault.ts';
import { QUERY_WORDS, REQUEST_WORDS, RESPONSE_WORDS } from './rule-book-source.ts';

/** Converts the schema's issues with `source` to faults: each says which part is wrong, its value and how to fix it. */
export function schemaFaults(issues: readonly z.core.$ZodIssue[], source: unknown): readonly SourceFault[] {
  return issues.flatMap((issue) => faultsOf(issue, [], source));
}

type Issue = z.core.$ZodIssue;

function faultsOf(issue: Issue, base: SourcePath, source: unknown): readonly SourceFault[] {
  const path = [...base, ...steps(issue.path)];
  const value = valueAt(source, path);
  const label = printSourcePath(path);
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key) => unknownKey([...path, key], key, path, issue.message));
    case 'invalid_key': {
      const reasons = issue.issues.map((inner) => inner.message).join('; ');
      return [{ path, blame: 'key', message: `${label} ${reasons}` }];
    }
    case 'invalid_union':
      return unionFaults(issue.errors, issue.message, path, source);
    case 'invalid_type':
      return [typeFault(path, value, NOUNS[issue.expected] ?? issue.expected)];
    case 'invalid_value': {
      if (value === undefined) return [typeFault(path, value, '')];
      const words = issue.values.map(String);
      const hint = typeof value === 'string' ? didYouMean(value, words) : '';
      return [
        { path, blame: 'value', message: `${label} must be ${listed(words)}, not ${show(value)}${hint}` },
      ];
    }
    case 'too_small':
    case 'too_big':
      return [{ path, blame: 'value', message: `${label} ${sizeSentence(issue, value)}` }];
    case 'invalid_format':
    case 'custom': {
      const shown = typeof value === 'object' ? label : `${label} ${show(value)}`;
      return [{ path, blame: 'value', message: `${shown} ${issue.message}` }];
    }
    case 'invalid_element':
    case 'not_multiple_of':
      return [{ path, blame: 'value', message: `${label} ${show(value)}: ${issue.message}` }];
  }
}

/** Reports on the alternative that the author meant; if none matches, the message lists the alternatives. */
function unionFaults(
  alternatives: readonly (readonly Issue[])[],
  expected: string,
  path: SourcePath,
  source: unknown,
): readonly SourceFault[] {
  const value = valueAt(source, path);
  const words = wordsFor(path);
  if (words !== undefined && isMapping(value)) {
    const [word, other] = words.filter((candidate) => Object.hasOwn(value, candidate));
    if (word === undefined) return [missingRuleFault(path, value, words)];
    if (other !== undefined) {
      const message = `${printSourcePath(path)} is two rules, ${word} and ${other}; give each an entry of its own`;
      return [{ path, blame: 'value', message }];
    }
    return (alternatives[words.indexOf(word)] ?? []).flatMap((issue) => faultsOf(issue, path, source));
  }
  const candidates = alternatives.filter((issues) => !issues.some(isAboutType));
  if (candidates.length !== 1) return [typeFault(path, value, expected)];
  return (candidates[0] ?? []).flatMap((issue) => faultsOf(issue, path, source));
}

function isAboutType(issue: Issue): boolean {
  if (issue.path.length > 0) return false;
  if (issue.code === 'invalid_union') return issue.errors.every((issues) => issues.some(isAboutType));
  return issue.code === 'invalid_type' || issue.code === 'invalid_value';
}

function wordsFor(path: SourcePath): readonly string[] | undefined {
  if (path.length !== 4 || path[0] !== 'changes') return undefined;
  if (path[2] === 'request') return REQUEST_WORDS;
  if (path[2] === 'query') return QUERY_WORDS;
  return path[2] === 'response' ? RESPONSE_WORDS : undefined;
}

function missingRuleFault(path: SourcePath, value: object, words: readonly string[]): SourceFault {
  const [key = ''] = Object.keys(value);
  const hint = key === 'alias-errors' ? '; alias-errors is called errors now' : didYouMean(key, words);
  return {
    path,
    blame: 'value',
    message: `${printSourcePath(path)} is not a rule: it needs ${listed(words)}${hint}`,
  };
}

function unknownKey(path: SourcePath, key: string, holder: SourcePath, known: string): SourceFault {
  const where = holder.length === 0 ? '' : ` in ${printSourcePath(holder)}`;
  if (holder.length > 1 && (key === 'malformed' || key === 'unsupported' || key === 'future')) {
    const subject = key === 'future' ? 'requests' : 'bodies';
    const message = `the policy ${key} applies to whole ${subject}, before any change; move it to the policies of the rule book`;
    return { path, blame: 'key', message };
  }
  const hint = didYouMean(key, known.split(', '));
  const message = `unknown key ${JSON.stringify(key)}${where}${hint === '' ? '; ' : `${hint} `}known here: ${known}`;
  return { path, blame: 'key', message };
}

function typeFault(path: SourcePath, value: unknown, expected: string): SourceFault {
  const label = printSourcePath(path);
  const example = EXAMPLES.get(path.at(-1));
  const suggestion = example === undefined ? '' : `; write ${example}`;
  if (value === undefined) return { path, blame: 'value', message: `${label} is missing${suggestion}` };
  const quotes = typeof value === 'number' || typeof value === 'boolean' || value === null;
  const hint =
    expected === 'a text' && quotes ? '; put it in quotes' : (bytesHint(path, value) ?? suggestion);
  return { path, blame: 'value', message: `${label} must be ${expected}, not ${show(value)}${hint}` };
}

/** Limits of bytes are numbers alone; settings take units. */
function bytesHint(path: SourcePath, value: unknown): string | undefined {
  const [holder, key] = path;
  if (holder !== 'limits' || key === 'depth' || typeof value !== 'string') return undefined;
  return '; write the number of bytes, such as 10485760 for 10 MiB';
}

function sizeSentence(issue: z.core.$ZodIssueTooSmall | z.core.$ZodIssueTooBig, value: unknown): string {
  const bound = issue.code === 'too_small' ? issue.minimum : issue.maximum;
  if (Array.isArray(value)) return 'is an empty list; name at least one, or leave the line out';
  if (typeof value === 'string') return 'is empty; write something';
  return `must be ${issue.code === 'too_small' ? 'at least' : 'at most'} ${bound}, not ${show(value)}`;
}

function valueAt(source: unknown, path: SourcePath): unknown {
  let value: unknown = source;
  for (const step of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined;
    value = Reflect.get(value, step);
  }
  return value;
}

function steps(path: readonly PropertyKey[]): SourcePath {
  return path.map((step) => (typeof step === 'symbol' ? String(step) : step));
}

function isMapping(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function printSourcePath(path: SourcePath): string {
  if (path.length === 0) return 'the rule book';
  return path
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`))
    .join('')
    .slice(1);
}

function show(value: unknown): string {
  if (value === null) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a mapping';
  const text = typeof value === 'number' ? String(value) : JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}

function listed(words: readonly string[]): string {
  if (words.length < 2) return words.join('');
  return `${words.slice(0, -1).join(', ')} or ${words.at(-1) ?? ''}`;
}

const NOUNS: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'a mapping',
  record: 'a mapping',
  array: 'a list',
};

const EXAMPLES: ReadonlyMap<unknown, string> = new Map([
  ['version', 'version: 2025-01-01'],
  ['operations', 'operations: { create_client: POST /clients }'],
  ['changes', 'changes: and a list of them'],
  ['id', 'id: and a name for the change'],
  ['summary', 'summary: and one sentence for people'],
  ['on', 'on: every, or on: and a list of operation ids'],
  ['match', 'match: POST /clients, for example'],
  ['under', 'under: and the name of the sub-object'],
  ['to', 'to: and the new name'],
  ['as', 'as: and the V1 name'],
  ['of', 'of: and the name of the member'],
]);
