import { bytesOfText } from '../../json/names.ts';
import { type Book, formOf } from './book.ts';
import { readName, readPath } from './paths.ts';
import { DraftArray, DraftElement, type DraftMember, markChanged } from '../../edits/draft.ts';
import {
  aboutMember,
  type CompiledRule,
  type MembersToOpen,
  PLAIN,
  type RuleBase,
  type Run,
} from '../../edits/run.ts';
import { jsonOf, NULL, renameTo } from '../../edits/values.ts';
import type { NameTable } from '../../json/names.ts';
import { type ResponseKind, memberAt, type ResponseWords } from './kind.ts';
import { type ResponseListRule, settleNames } from './list.ts';

/** How `first` changes the bytes of responses. */
export const kind: ResponseKind<ResponseListRule> = { compile, changesValue: true };

/** How messages and guides describe `first`. */
export const words: ResponseWords<ResponseListRule> = {
  of: 'responses',
  say: ({ to }, name) => `take the first of ${name} as ${to}`,
};

/** How a rule book writes `first`. */
export const book: Book<never, ResponseListRule> = {
  response: {
    mayBeAnywhere: true,
    form: ({ strict, memberPath, name, status }) =>
      formOf(
        strict({ first: memberPath, to: name.exactOptional(), status }).describe(
          'Replaces a list with its first element.',
        ),
        ({ first, to }, { status }) => {
          const path = readPath(first);
          const name = to === undefined ? (path.at(-1) ?? '') : readName(to);
          return [{ rule: { rule: 'first', path, to: name, status } }];
        },
      ),
    effect: ['takes the first of '],
    takes: ({ path, to }) => path.at(-1) !== to,
  },
};

/** Replaces the list in the named member with its first element: null for an empty list; any other value stays. */
function compile({ path, to: name }: ResponseListRule, base: RuleBase, names: NameTable): CompiledRule {
  const rule = memberAt(path);
  const [id, to] = [names.add(rule.member), names.add(name)];
  const compiled = aboutMember(rule, base, names, (run, object, member) => {
    run.readsValues();
    const { draft } = run;
    const value = draft.open(member, member.node);
    const isNull = value === undefined && jsonOf(draft, member) === NULL;
    if (!(value instanceof DraftArray) && !isNull) return run.settleValue(base, member, 'a list');
    if (isNull && to === id) return undefined;
    const stop = settleNames(base, run, object, member, to);
    if (stop !== undefined) return stop;
    const before = run.pointerOf(member);
    renameTo(member, to);
    markChanged(object);
    run.step(base.code + PLAIN);
    if (value instanceof DraftArray) {
      const isEmpty = putFirst(base, run, member, value);
      run.recorder?.first(base, member, before, isEmpty);
    } else run.recorder?.move(base, member, before);
    return undefined;
  });
  const open = ({ arrays }: MembersToOpen): void => {
    arrays[id] = true;
  };
  return { ...compiled, reach: compiled.path.length + 2, lift: 1, open };
}

/** Returns true if the list was empty. */
function putFirst(rule: RuleBase, run: Run, member: DraftMember, array: DraftArray): boolean {
  const { bytes, tape } = run.draft;
  const node = array.node < 0 ? 0 : tape.firstChild(array.node);
  const [entered] = array.elements;
  const isMade = array.node < 0;
  const isLonger = isMade ? array.elements.length > 1 : node > 0 && tape.next(node) > 0;
  if (isLonger) run.recorder?.keep(rule, member, 'more');
  member.isReplaced = true;
  member.value = undefined;
  member.literal = undefined;
  const isListed = entered?.index === 0;
  // Elements of an array are not listed before a rule enters it.
  const first = isListed ? entered : node > 0 ? new DraftElement(array, 0, node) : undefined;
  const value = first === undefined || isMade || isListed ? first?.value : run.draft.open(first, node);
  const source = first?.from?.node ?? node;
  if (value !== undefined) {
    value.up = member;
    member.value = value;
  } else if (first?.literal !== undefined) member.literal = first.literal;
  else if (source > 0) member.literal = bytes.slice(tape.start(source), tape.end(source));
  else member.literal = bytesOfText(NULL);
  markChanged(member.holder);
  return first === undefined && node <= 0;
}
