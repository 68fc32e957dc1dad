import { bytesOfText } from '../../json/names.ts';
import type { NameTable } from '../../json/names.ts';
import {
  type Draft,
  DraftArray,
  DraftElement,
  type DraftMember,
  type DraftObject,
  markChanged,
} from '../../edits/draft.ts';
import {
  aboutMember,
  type CompiledRule,
  type MembersToOpen,
  type Path,
  PLAIN,
  type RuleBase,
  type Run,
  type Stop,
} from '../../edits/run.ts';
import { jsonOf, NULL, renameTo } from '../../edits/values.ts';
import { type Kind, type Lens, memberAt, type ResponseKind, type StatusPattern, type Words } from './kind.ts';

/** Wraps the value of the member `member` of each object at `in` in a list with one element, called `to`. */
export interface ListRule {
  readonly rule: 'list';
  readonly member: string;
  readonly in: Path;
  readonly to: string;
}

/** Wraps the value of the member at `path` in a list with one element (`list`), or replaces a list with its first element (`first`). */
export interface ResponseListRule {
  readonly rule: 'list' | 'first';
  readonly path: Path;
  readonly to: string;
  readonly status: readonly StatusPattern[];
}

/** How `list` changes the bytes of requests. */
export const kind: Kind<ListRule> = { compile };

/** `inverse` takes the first element out of the list. */
export const lens: Lens<ListRule, ResponseListRule> = {
  changesValue: true,
  moves: ({ member, to }) => [{ from: [member], to: [to], inside: [{ from: [], to: ['0'] }] }],
  inverse: ({ member, to }, objects) => [{ rule: 'first', path: [...objects, to], to: member }],
};

/** How `list` changes the bytes of responses. */
export const back: ResponseKind<ResponseListRule> = {
  compile: ({ path, to }, base, names) => compile({ rule: 'list', ...memberAt(path), to }, base, names),
};

/** How messages and guides describe `list`. */
export const words: Words<ListRule, ResponseListRule> = {
  of: 'both',
  named: ({ member }) => [[member]],
  say: ({ to }, name, where) => `make ${name}${where} a list, ${to}`,
  remark: () => 'now a list',
  done: ({ name, to }) => `${name} becomes a list: ${to}.`,
};

/** Wraps the value of the named member in a list with one element; null counts as no value, and becomes an empty list. */
function compile(rule: ListRule, base: RuleBase, names: NameTable): CompiledRule {
  const [id, to] = [names.add(rule.member), names.add(rule.to)];
  const compiled = aboutMember(rule, base, names, (run, object, member) => {
    const stop = settleNames(base, run, object, member, to);
    if (stop !== undefined) return stop;
    run.readsValues();
    const before = run.pointerOf(member);
    const isNull = jsonOf(run.draft, member) === NULL;
    renameTo(member, to);
    enlist(run.draft, member, isNull);
    run.step(base.code + PLAIN);
    run.recorder?.enlist(base, member, before, isNull);
    return undefined;
  });
  // The element is opened as elements of the list will be.
  const open = ({ objects, arrays }: MembersToOpen): void => {
    if (arrays[to] === true) objects[id] = arrays[id] = true;
  };
  return { ...compiled, reach: compiled.path.length + 2, open };
}

/** Resolves the conflicts of a member that gets the name `to`, with other members of its old name and with those of the new one. */
export function settleNames(
  rule: RuleBase,
  run: Run,
  object: DraftObject,
  member: DraftMember,
  to: number,
): Stop | undefined {
  const stop = run.settleRepeated(rule, member.id, member);
  return stop ?? (to === member.id ? undefined : run.settleName(rule, object, to));
}

/** Puts the value of a member into a new array, which is empty for null. */
function enlist(draft: Draft, member: DraftMember, isNull: boolean): void {
  const value = draft.open(member, member.node);
  const array = new DraftArray(-1, member);
  array.isEntered = true;
  array.isChanged = true;
  if (!isNull) {
    const element = new DraftElement(array, 0);
    if (value === undefined) element.literal = bytesOfText(jsonOf(draft, member) ?? '');
    else {
      value.up = element;
      element.value = value;
    }
    array.elements.push(element);
  }
  member.literal = undefined;
  member.value = array;
  member.isReplaced = true;
  markChanged(member.holder);
}
