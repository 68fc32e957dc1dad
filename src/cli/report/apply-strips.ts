import { readFileSync } from 'node:fs';
import { isMap, isSeq, parseDocument, type Document } from 'yaml';
import { replaceFileSync } from '../../node/replace-file.ts';
import { changeIdOf, proposalYaml, type StripProposal } from '../../report/strips/strip-proposal.ts';
import { printFault } from '../../rules/rule-book-fault.ts';
import { readRuleBook } from '../../rules/read-rule-book.ts';
import type { RuleBook } from '../../rules/rule-book.ts';

/** The outcome of writing proposals into a rule book: the names written, or the reasons why nothing was. */
export type AppliedStrips = { readonly written: readonly string[] } | { readonly faults: readonly string[] };

/**
 * Writes `strip` rules into the rule book at `path`, as changes at the end of `changes`; every other line stays as it is, with its
 * comments. Members that a rule strips already are left out. The file is replaced at once, and only by a valid rule book.
 */
export async function applyStrips(path: string, strips: readonly StripProposal[]): Promise<AppliedStrips> {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    return {
      faults: [`The rule book cannot be read: ${error instanceof Error ? error.message : String(error)}.`],
    };
  }
  const reading = await readRuleBook(text, path);
  if (!reading.ok) return { faults: reading.faults.map((fault) => printFault(fault)) };
  const missing = strips.filter((strip) => !hasStrip(reading.ruleBook, strip));
  if (missing.length === 0) return { written: [] };
  const next = withChanges(text, reading.ruleBook, missing);
  if (next === undefined)
    return { faults: [`${path}: changes is not a block list; paste the proposal of --census by hand.`] };
  const checked = await readRuleBook(next, path);
  if (!checked.ok) return { faults: checked.faults.map((fault) => printFault(fault)) };
  // In one step: a gateway that watches it never reads half of it.
  replaceFileSync(path, next);
  return {
    written: missing.map(({ in: place, member }) => (place === undefined ? member : `${place}.${member}`)),
  };
}

function hasStrip({ changes }: RuleBook, { operation, in: place = '', member }: StripProposal): boolean {
  return changes.some(
    ({ on, request }) =>
      (on === 'every' || (operation !== undefined && on.includes(operation))) &&
      request.some(
        (rule) => rule.rule === 'strip' && rule.in.join('.') === place && rule.members.includes(member),
      ),
  );
}

/** Adds the changes behind the last one; undefined where `changes` is not a block list of maps. */
function withChanges(
  text: string,
  { changes }: RuleBook,
  strips: readonly StripProposal[],
): string | undefined {
  const end = endOfChanges(text);
  if (end === undefined) return undefined;
  const taken = new Set(changes.map(({ id }) => id));
  const printed = [...Map.groupBy(strips, ({ operation }) => operation)].map(([operation, members]) => {
    const id = changeIdOf(operation);
    let free = id;
    for (let n = 2; taken.has(free); n += 1) free = `${id}-${n}`;
    return proposalYaml(members).replace(`- id: ${id}\n`, `- id: ${free}\n`);
  });
  const indented = printed.join('').replaceAll(/^ {2}/gm, ' '.repeat(end.indent));
  const before = text.slice(0, end.offset);
  return `${before}${before.endsWith('\n') ? '' : '\n'}\n${indented}${text.slice(end.offset)}`;
}

/** The place behind the last change and the comments that belong to it, and the indentation of the list. */
function endOfChanges(text: string): { readonly offset: number; readonly indent: number } | undefined {
  const document: Document = parseDocument(text, { version: '1.2', schema: 'core', stringKeys: true });
  const changes = document.get('changes');
  if (!isSeq(changes) || changes.flow === true) return undefined;
  const last = changes.items.at(-1);
  if (!isMap(last) || last.flow === true || last.range === null || last.range === undefined) return undefined;
  const dash = text.lastIndexOf('-', last.range[0]);
  const indent = dash - (text.lastIndexOf('\n', dash) + 1);
  let offset = lineAfter(text, last.range[1] - 1);
  for (;;) {
    const end = lineAfter(text, offset);
    const comment = /^( *)#/.exec(text.slice(offset, end));
    if (comment === null || (comment[1] ?? '').length <= indent || end === offset) break;
    offset = end;
  }
  return { offset, indent };
}

/** The offset of the line after the one with `offset`. */
function lineAfter(text: string, offset: number): number {
  const feed = text.indexOf('\n', offset);
  return feed === -1 ? text.length : feed + 1;
}
