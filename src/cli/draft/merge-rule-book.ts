import { isMap, isScalar, isSeq, type Pair, parseDocument } from 'yaml';
import { readPath, templateShape } from '../../rules/rule.ts';
import { isObject, memberOf, objectIn } from '../../openapi/description.ts';
import { freeName } from '../command-fault.ts';
import type { BookRule } from '../../openapi/draft/book-rules.ts';
import type { FoundRule } from '../../openapi/draft/found-rules.ts';
import {
  printAskedRules,
  printChanges,
  printOperations,
  keyQuestion,
  NO_CHANGE_YET,
  printQuestions,
  type ProposedGone,
  type ProposedOperation,
  type ProposedRuleBook,
} from '../../openapi/draft/print-rule-book.ts';
import type { GivenMoves } from '../../openapi/draft/match-operations.ts';
import type { ProposedChange } from '../../openapi/draft/propose-changes.ts';

/** A rule book with its additions, and their numbers. */
export interface MergedRuleBook {
  readonly text: string;
  readonly operations: number;
  readonly changes: number;
}

/** The value of a rule book without faults, in which reading has already limited aliases. */
function valueOf(document: ReturnType<typeof parseDocument>): unknown {
  return document.toJS({ maxAliasCount: -1 });
}

/** The V2 method and path of each operation that a rule book moves, by the shape of its V1 path. */
export function movesIn(text: string): GivenMoves {
  const operations = objectIn(valueOf(parseDocument(text)), 'operations');
  return new Map(
    Object.values(operations).flatMap((declared) => {
      const [match, to] = ['match', 'to'].map((key) => memberOf(declared, key));
      if (typeof match !== 'string' || typeof to !== 'string') return [];
      const [method = '', template = ''] = match.split(' ');
      return [[`${method} ${templateShape(template)}`, to] as const];
    }),
  );
}

/**
 * Appends the operations that a rule book lacks, and the changes for members that none of its rules names, to its lists. Existing text
 * stays the same to the byte. A member that a rule names counts as decided. A missing top-level key becomes a question, because it would
 * change the meaning of the rules. `text` must be a rule book without faults.
 */
export function mergeRuleBook(text: string, proposed: ProposedRuleBook): MergedRuleBook {
  const document = parseDocument(text);
  const value = valueOf(document);
  const known = new KnownRules(value, text);
  const ids = new Map(proposed.operations.map((operation) => [operation.id, known.idOf(operation)]));
  const fresh = proposed.operations.filter(({ id }) => ids.get(id) === undefined);
  const operations = fresh.map((operation) => ({ ...operation, id: known.freeId(operation.id) }));
  const renamed = new Map(fresh.map(({ id }, at) => [id, operations[at]?.id ?? id]));
  const idNow = (id: string): string => ids.get(id) ?? renamed.get(id) ?? id;
  // An open question is not repeated.
  const unasked = proposed.changes.filter((change) => {
    const rules = printAskedRules(change);
    return rules.length === 0 || !rules.every((rule) => text.includes(`- ${rule}`));
  });
  const changes = withLeaders(
    unasked.map((change) => ({ change, added: newPart(change, proposed.operations, idNow, known) })),
  );
  const questions = new Map(
    [...proposed.questions]
      .filter(([id]) => renamed.has(id))
      .map(([id, sentences]) => [renamed.get(id) ?? id, sentences]),
  );
  const isUntold = ({ named, operation: { method, rest } }: ProposedGone): boolean =>
    (named === undefined || known.idOf(named) === undefined) && !text.includes(`# - ${method} ${rest}`);
  const gone = proposed.gone?.filter(isUntold) ?? [];
  const added: ProposedRuleBook = { ...proposed, operations, changes, questions, gone };
  const keys = proposed.keys.flatMap((key) => {
    const asked = {
      ...key,
      question: key.question ?? `does ${key.key} hold? ${key.evidence ?? 'The descriptions say so.'}`,
    };
    const lines = keyQuestion(asked);
    return memberOf(value, key.key) !== undefined || text.includes(lines[0] ?? '') ? [] : [...lines, ''];
  });
  const inserted = [
    keys.length === 0 ? undefined : headInsertion(document, keys),
    insertionAt(document, text, 'operations', printOperations(added)),
    insertionAt(document, text, 'changes', [
      ...printChanges(added),
      ...printQuestions(added).map((line) => (line === '' ? line : `  ${line}`)),
    ]),
  ].filter((insertion) => insertion !== undefined);
  // From the end, so that earlier offsets remain valid.
  const merged = inserted
    .toSorted((one, other) => other.start - one.start)
    .reduce((all, { start, end, lines }) => all.slice(0, start) + lines + all.slice(end), text);
  return { text: merged, operations: operations.length, changes: changes.length };
}

/** The operations of a rule book, and the names in its rules, by operation. */
class KnownRules {
  private readonly ids = new Map<string, string>();
  private readonly changeIds = new Set<string>();
  private readonly names = new Map<string, Set<string>>();

  constructor(book: unknown, text: string) {
    // Changes that are still questions have ids as well.
    for (const [, id = ''] of text.matchAll(/^[ #]*- \{? *id: "?([\w.-]+)/gm)) this.changeIds.add(id);
    for (const [id, declared] of Object.entries(objectIn(book, 'operations'))) {
      const match = typeof declared === 'string' ? declared : memberOf(declared, 'match');
      if (typeof match !== 'string') continue;
      const [method = '', template = ''] = match.split(' ');
      this.ids.set(`${method} ${templateShape(template)}`, id);
    }
    const changes = memberOf(book, 'changes');
    for (const change of Array.isArray(changes) ? changes : []) {
      const [id, on] = [memberOf(change, 'id'), memberOf(change, 'on')];
      if (typeof id === 'string') this.changeIds.add(id);
      for (const operation of Array.isArray(on) ? on : [on]) {
        const names = this.names.get(String(operation)) ?? new Set();
        this.names.set(String(operation), names);
        for (const part of ['request', 'query', 'headers', 'response'])
          for (const name of namesIn(memberOf(change, part))) names.add(name);
      }
    }
  }

  idOf({ method, template }: Pick<ProposedOperation, 'method' | 'template'>): string | undefined {
    return this.ids.get(`${method} ${templateShape(template)}`);
  }

  /** True when a rule for the operation names the member, parameter or field. */
  hasNamed(operation: string, name: string): boolean {
    return ['every', operation].some((on) => this.names.get(on)?.has(name) === true);
  }

  freeId(wanted: string): string {
    return freeName(wanted, '_', new Set(this.ids.values()));
  }

  freeChangeId(wanted: string): string {
    const id = freeName(wanted, '-', this.changeIds);
    this.changeIds.add(id);
    return id;
  }
}

/** The names in the paths of rules: every text in them, and the keys of mappings by path. */
function namesIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return value.split('.');
  if (Array.isArray(value)) return value.flatMap(namesIn);
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    const isByPath = key === 'set' || key === 'default';
    return isByPath && isObject(inner)
      ? Object.keys(inner).flatMap((path) => path.split('.'))
      : namesIn(inner);
  });
}

/** The added changes; of those that ask the same, the first one asks, if the one that the draft names is in the book already. */
function withLeaders(
  all: readonly { readonly change: ProposedChange; readonly added: readonly ProposedChange[] }[],
): readonly ProposedChange[] {
  const leaders = new Map<string, string>();
  return all.flatMap(({ change, added }) =>
    added.map((own) => {
      const question = change.asWith ?? change.id;
      const leader = leaders.get(question);
      if (leader !== undefined) return { ...own, asWith: leader };
      leaders.set(question, own.id);
      const { asWith: _, ...asking } = own;
      return asking;
    }),
  );
}

/** The new rules in a change, for the operations that lack them. */
function newPart(
  change: ProposedChange,
  operations: readonly ProposedOperation[],
  idNow: (id: string) => string,
  known: KnownRules,
): readonly ProposedChange[] {
  const { on, rules, query = [], headers = [], response = [] } = change;
  const all = (on === 'every' ? operations.map(({ id }) => id) : on).map(idNow);
  const names = [
    ...rules.flatMap(({ found }) => namesOf(found)),
    ...[...query, ...headers, ...response].flatMap((one) => one.rules.map(nameIn)),
  ];
  const open = all.filter((id) => !names.some((name) => known.hasNamed(id, name)));
  if (open.length === 0) return [];
  const reach = on === 'every' && open.length === all.length ? 'every' : open;
  return [{ ...change, id: known.freeChangeId(change.id), on: reach }];
}

/** The V1 members that a rule is about. */
function namesOf(found: FoundRule): readonly string[] {
  if (found.rule === 'nest') return found.members;
  return found.rule === 'copy' ? found.to.slice(-1) : [found.member];
}

/** The member, parameter or field that a rule is about: the last name of its path. */
function nameIn({ of, ...rule }: BookRule): string {
  const [first] = Object.values(rule);
  const path = of ?? (Array.isArray(first) ? first.flat()[0] : first);
  return readPath(String(path)).at(-1) ?? '';
}

/** Inserts the keys before `operations`, or before the first key if that is missing; comments above that key remain above them. */
function headInsertion(document: ReturnType<typeof parseDocument>, lines: readonly string[]): Insertion {
  const items = isMap(document.contents) ? document.contents.items : [];
  const keyOf = (item: Pair): unknown => (isScalar(item.key) ? item.key.value : undefined);
  const first = items.find((item) => keyOf(item) === 'operations') ?? items[0];
  const at = isScalar(first?.key) ? (first.key.range?.[0] ?? 0) : 0;
  return { start: at, end: at, lines: lines.map((line) => `${line}\n`).join('') };
}

interface Insertion {
  readonly start: number;
  readonly end: number;
  readonly lines: string;
}

/** Inserts the lines after the last item of the block, instead of an empty one, or at the end of the text. */
function insertionAt(
  document: ReturnType<typeof parseDocument>,
  text: string,
  key: string,
  lines: readonly string[],
): Insertion | undefined {
  if (lines.length === 0) return undefined;
  const root = document.contents;
  const pair = isMap(root)
    ? root.items.find((item: Pair) => isScalar(item.key) && item.key.value === key)
    : undefined;
  const value = pair?.value;
  const printed = lines.join('\n').trimEnd();
  const hasRule = lines.some((line) => line.trim() !== '' && !line.trimStart().startsWith('#'));
  const list = hasRule ? '' : ` ${NO_CHANGE_YET}`;
  const isBlock = (isMap(value) || isSeq(value)) && value.items.length > 0 && value.flow !== true;
  if (isBlock && value.range) {
    const [start, end] = value.range;
    const column = start - (text.lastIndexOf('\n', start - 1) + 1);
    const before = text.slice(0, end).trimEnd().length;
    const line = text.indexOf('\n', before);
    const at = line === -1 ? text.length : line;
    const own = printed.replaceAll(/^ {2}/gm, ' '.repeat(column));
    return { start: at, end: at, lines: `${key === 'changes' ? '\n' : ''}\n${own}` };
  }
  if ((isMap(value) || isSeq(value)) && value.items.length === 0 && value.range) {
    const [start, end] = value.range;
    return { start, end, lines: `${list.trimStart()}\n${printed}` };
  }
  return { start: text.length, end: text.length, lines: `\n${key}:${list}\n${printed}\n` };
}
