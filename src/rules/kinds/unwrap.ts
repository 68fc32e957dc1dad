import { type Book, formOf } from './book.ts';
import { readName } from './paths.ts';
import { pointerToken } from '../../json/pointer.ts';
import type { NameTable } from '../../json/names.ts';
import { type DraftMember, DraftObject, find } from '../../edits/draft.ts';
import {
  type CompiledRule,
  FLAT,
  OTHER,
  PLAIN,
  refuse,
  type RuleBase,
  type Run,
  type Stop,
} from '../../edits/run.ts';
import type { Kind, Words, Lens } from './kind.ts';

/** Replaces the body with the object in its member `member`. */
export interface UnwrapRule {
  readonly rule: 'unwrap';
  readonly member: string;
}

/** How `unwrap` changes the bytes of requests. */
export const kind: Kind<UnwrapRule> = { compile, unwraps: ({ member }) => member };

/** Nothing is undone: `wrap` says whether responses had a wrapper. */
export const lens: Lens<UnwrapRule, never> = {
  moves: () => [],
  inverse: () => 'wrapped',
};

/** How messages and guides describe `unwrap`. */
export const words: Words<UnwrapRule> = {
  of: 'requests',
  named: ({ member }) => [[member]],
  why: 'V1 need not have wrapped responses (wrap does)',
  say: ({ member }) => `unwrap ${member}`,
  none: ({ member }) => `There is no member ${member}: the body is already flat.`,
  done: ({ name }) => `The wrapper ${name} is removed.`,
};

/** How a rule book writes `unwrap`. */
export const book: Book<UnwrapRule> = {
  request: {
    form: ({ strict, name }) =>
      formOf(
        strict({ unwrap: name.describe('The member with the parameters.') }).describe(
          'Replaces the body with the object in the named member.',
        ),
        ({ unwrap }, { path }) => {
          const at = [...path, 'unwrap'];
          return [{ rule: { rule: 'unwrap', member: readName(unwrap) }, inside: at, members: [at] }];
        },
      ),
    policies: ['flat', 'siblings', 'wrapper'],
    learn: ({ member }, facts) => facts.unwrap(member),
    subject: () => 'this unwrap',
  },
};

/** Replaces the body with the object in the named member, and drops members beside that, which V1 ignored. */
function compile(rule: UnwrapRule, base: RuleBase, names: NameTable): CompiledRule {
  const id = names.add(rule.member);
  return {
    ...base,
    path: [],
    lift: 1,
    open: ({ objects }) => {
      objects[id] = true;
    },
    apply: (run) => {
      const { draft, recorder } = run;
      const wrapper = find(draft.root, id);
      if (wrapper === undefined) return flat(rule.member, base, run);
      const stop = run.settleRepeated(base, id, wrapper);
      if (stop !== undefined) return stop;
      const body = draft.open(wrapper, wrapper.node);
      if (!(body instanceof DraftObject)) {
        if (base.policies.wrapper === 'forward') return { kind: 'forward', note: 'wrapper-not-object' };
        return refuse('wrapper-not-object', 422, `${rule.member} must be an object.`, run, wrapper);
      }
      if (draft.root.members.length > 1) {
        const dropped = dropSiblings(rule.member, base, run, wrapper);
        if (dropped !== undefined) return dropped;
      }
      run.step(base.code + PLAIN);
      recorder?.unwrap(base, wrapper);
      wrapper.isRemoved = true;
      body.up = undefined;
      draft.root = body;
      return undefined;
    },
  };
}

function dropSiblings(name: string, base: RuleBase, run: Run, wrapper: DraftMember): Stop | undefined {
  const siblings = run.draft.root.members.filter((member) => member !== wrapper);
  if (base.policies.siblings === 'forward') return { kind: 'forward', note: 'wrapper-siblings' };
  if (base.policies.siblings === 'refuse') {
    const detail = `Only the member ${name} may be at the top level of the body.`;
    return refuse('wrapper-siblings', 422, detail, run, siblings[0] ?? wrapper);
  }
  run.readsValues();
  for (const member of siblings) {
    run.step(base.code + OTHER);
    run.recorder?.drop({ change: base.change, rule: 'strip' }, member, 'sibling');
    member.isRemoved = true;
  }
  return undefined;
}

function flat(name: string, base: RuleBase, run: Run): Stop | undefined {
  if (base.policies.flat === 'forward') return { kind: 'forward', note: 'already-flat' };
  if (base.policies.flat === 'refuse') {
    const pointer = `/${pointerToken(name)}`;
    const refusal = { code: 'not-wrapped', status: 422, detail: `${name} is required.`, pointer };
    return { kind: 'refuse', refusal };
  }
  run.step(base.code + FLAT);
  run.recorder?.flat(base);
  return undefined;
}
