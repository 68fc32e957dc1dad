import { readRuleBook } from '../../rules/read-rule-book.ts';
import { isProposed } from './found-rules.ts';
import { type Marks, printRuleBook, type ProposedRuleBook } from './print-rule-book.ts';
import type { ProposedChange } from './propose-changes.ts';

/** Maximum attempts to find clashing rules; then all questions remain comments. */
const MAX_ROUNDS = 40;

const CLASH = 'it clashes with another rule';

/**
 * Returns a draft that is a valid rule book both with its questions marked and with all marks removed: if answers exclude each other, such
 * as two members that may both be one of V2, all are shown, and only the first becomes a rule.
 */
export async function soundDraft(book: ProposedRuleBook): Promise<ProposedRuleBook> {
  let current = book;
  for (const marks of ['marked', 'unmarked'] as const) {
    for (let round = 0; ; round += 1) {
      const text = printRuleBook(current, undefined, marks);
      const reading = await readRuleBook(text, 'draft');
      if (reading.ok) break;
      if (round > MAX_ROUNDS) return allShown(current);
      const lines = reading.faults.map(({ line }) => line);
      const next = withoutClashes(current, text.split('\n'), lines, marks);
      if (next === undefined) return allShown(current);
      current = next;
    }
  }
  return current;
}

function allShown(book: ProposedRuleBook): ProposedRuleBook {
  return {
    ...book,
    changes: book.changes.map((change) => (isQuestion(change) ? { ...change, isShown: true } : change)),
  };
}

function isQuestion({ rules, query = [], headers = [], response = [] }: ProposedChange): boolean {
  return [...rules, ...query, ...headers, ...response].some((rule) => !isProposed(rule));
}

/**
 * The draft without the questions on these lines, or without the last one that shares an operation with a rule there; undefined if there is
 * no such question.
 */
function withoutClashes(
  book: ProposedRuleBook,
  text: readonly string[],
  lines: readonly number[],
  marks: Marks,
): ProposedRuleBook | undefined {
  const named = new Set(lines.flatMap((line) => nameAt(text, line) ?? []));
  const concerned = book.changes.filter(({ id, isShown }) => named.has(id) && isShown !== true);
  const own = concerned.filter(isQuestion);
  if (marks === 'marked' && concerned.length > 0)
    return edited(book, new Set(concerned.map(({ id }) => id)), asQuestion);
  if (own.length > 0) return edited(book, new Set(own.map(({ id }) => id)), asShown);
  const operations = new Set(concerned.flatMap(({ on }) => on));
  const rival = book.changes.findLast(
    (change) =>
      isQuestion(change) &&
      change.isShown !== true &&
      (change.on === 'every' || operations.has('every') || change.on.some((id) => operations.has(id))),
  );
  if (concerned.length > 0 && rival !== undefined) return edited(book, new Set([rival.id]), asShown);
  const moved = book.operations.filter(
    ({ id, moved: to, prefixed }) => named.has(id) && (to ?? prefixed) !== undefined,
  );
  if (moved.length === 0) return undefined;
  return {
    ...book,
    operations: book.operations.map((operation) =>
      moved.includes(operation) ? { ...operation, moved: undefined, prefixed: undefined } : operation,
    ),
  };
}

/** The id of the change, or of the operation, that a line is in. */
function nameAt(text: readonly string[], line: number): string | undefined {
  for (let at = line - 1; at >= 0; at -= 1) {
    const found = /^ {2}(?:- id: "?([\w.-]+)|"?([\w.-]+)"?:)/.exec(text[at] ?? '');
    if (found !== null) return found[1] ?? found[2];
  }
  return undefined;
}

function edited(
  book: ProposedRuleBook,
  ids: ReadonlySet<string>,
  edit: (change: ProposedChange) => ProposedChange,
): ProposedRuleBook {
  return { ...book, changes: book.changes.map((change) => (ids.has(change.id) ? edit(change) : change)) };
}

function asShown(change: ProposedChange): ProposedChange {
  return { ...change, isShown: true };
}

function asQuestion(change: ProposedChange): ProposedChange {
  const { rules, query, headers, response } = change;
  const asked = <Rule extends { readonly doubt?: string | undefined }>(
    all: readonly Rule[],
  ): readonly Rule[] => all.map((rule) => ({ ...rule, doubt: rule.doubt ?? CLASH }));
  return {
    ...change,
    rules: asked(rules),
    ...(query && { query: asked(query) }),
    ...(headers && { headers: asked(headers) }),
    ...(response && { response: asked(response) }),
  };
}
