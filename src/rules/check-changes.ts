import type { DeclaredChange, DeclaredRule } from './declared-change.ts';
import { didYouMean } from './did-you-mean.ts';
import { isInvertible } from './inverse.ts';
import { isRewritten } from './rewritten-methods.ts';
import type { Operation } from './rule-book.ts';
import type { SourceFault, SourcePath } from './rule-book-fault.ts';
import type { RequestRuleName, ResponseRule } from './rule.ts';

/** Checks each change on its own; the checks of stale rules cover how rules fit together. */
export function checkChanges(
  changes: readonly DeclaredChange[],
  operations: ReadonlyMap<string, Operation>,
  /** Every id in the source, including those of faulty operations. */
  ids: ReadonlySet<string>,
): readonly SourceFault[] {
  const faults: SourceFault[] = [];
  const fault = (path: SourcePath, message: string, blame: SourceFault['blame'] = 'value'): void => {
    faults.push({ path, blame, message });
  };
  const seen = new Map<string, SourcePath>();
  for (const declared of changes) {
    const { change, path } = declared;
    if (seen.has(change.id)) {
      fault(
        [...path, 'id'],
        `another change is called "${change.id}" already; give this one a name of its own`,
      );
    }
    seen.set(change.id, path);
    if (!declared.hasRules)
      fault(path, `change "${change.id}" changes nothing; give it request or response rules`);
    checkOn(declared, operations, ids, fault);
    checkPolicies(declared, fault);
    for (const rule of declared.request) checkRule(change.id, rule, fault);
    checkInverse(declared, fault);
    for (const { rule, path: at } of declared.response) {
      checkResponsePath(change.id, rule, at, fault);
      if (rule.rule === 'rename' && rule.path.at(-1) === rule.to) {
        fault(
          [...at, 'to'],
          `change "${change.id}": rename gives "${rule.to}" the name it has; write the V1 name in to`,
        );
      }
      if (rule.rule === 'alias' && rule.path.at(-1) === rule.as) {
        fault(
          [...at, 'as'],
          `change "${change.id}": alias gives "${rule.as}" the name it has; write the V1 name`,
        );
      }
    }
  }
  return faults;
}

/** A response that is an array is left unchanged, and a list that the gateway creates has exactly one place. */
function checkResponsePath(change: string, rule: ResponseRule, at: SourcePath, fault: Report): void {
  if (rule.rule === 'errors' || rule.rule === 'inverse') return;
  if (rule.path[0] === '*') {
    fault(
      [...at, rule.rule],
      `change "${change}": the path begins with *, but a response that is an array is left alone; begin with a name`,
    );
  } else if (rule.rule === 'deprecations' && rule.path.includes('*')) {
    fault([...at, rule.rule], `change "${change}": the list has exactly one place; name it without *`);
  }
}

/** `inverse` undoes request rules of its own change, all at once. */
function checkInverse({ change, request, response }: DeclaredChange, fault: Report): void {
  const [inverse, again] = response.filter(({ rule }) => rule.rule === 'inverse');
  if (inverse === undefined) return;
  if (again !== undefined) {
    fault(again.path, `change "${change.id}": inverse is in the list already; remove it`);
  }
  if (request.some(({ rule }) => isInvertible(rule))) return;
  const rules = [...new Set(change.request.map(({ rule }) => rule))];
  const why =
    rules.length === 0
      ? 'this change has no request rules'
      : `${rules.join(', ')} ${rules.length === 1 ? 'has' : 'have'} no inverse`;
  fault(inverse.path, `change "${change.id}": inverse has nothing to undo: ${why}; remove it`);
}

type Report = (path: SourcePath, message: string, blame?: SourceFault['blame']) => void;

function checkOn(
  { change, path }: DeclaredChange,
  operations: ReadonlyMap<string, Operation>,
  ids: ReadonlySet<string>,
  fault: Report,
): void {
  if (change.on === 'every') return;
  const seen = new Set<string>();
  for (const [index, id] of change.on.entries()) {
    const at = [...path, 'on', index];
    const label = `change "${change.id}": operation "${id}"`;
    if (seen.has(id)) fault(at, `${label} is in the list already; remove it`);
    seen.add(id);
    if (id === 'every' && !ids.has(id)) {
      fault(at, `change "${change.id}": "every" cannot be in a list; write on: every`);
      continue;
    }
    if (!ids.has(id)) {
      const hint = didYouMean(id, ids);
      fault(
        at,
        `${label} is not among the operations${hint === '' ? '; declare it there, or remove it' : hint}`,
      );
      continue;
    }
    const method = operations.get(id)?.method;
    if (method === undefined) continue;
    if (change.request.length > 0 && !isRewritten(method)) {
      fault(at, `${label} is ${method}, and only bodies of POST and PATCH are rewritten; remove it`);
    }
    if (change.response.length > 0 && method === 'HEAD') {
      fault(at, `${label} is HEAD, whose responses have no body to rewrite; remove it`);
    }
  }
}

/** A policy takes effect only if the change has a rule that uses it. */
function checkPolicies({ change, path }: DeclaredChange, fault: Report): void {
  for (const policy of Object.keys(change.policies)) {
    const rules = POLICY_RULES.get(policy) ?? [];
    if (change.request.some(({ rule }) => rules.includes(rule))) continue;
    const message = `change "${change.id}": the policy ${policy} is for ${rules.join(', ')}, and this change has none; remove it`;
    fault([...path, 'policies', policy], message, 'key');
  }
}

const POLICY_RULES: ReadonlyMap<string, readonly RequestRuleName[]> = new Map([
  ['flat', ['unwrap']],
  ['siblings', ['unwrap']],
  ['wrapper', ['unwrap']],
  ['conflict', ['nest', 'rename']],
  ['duplicate', ['unwrap', 'nest', 'rename', 'strip', 'only']],
]);

function checkRule(change: string, { rule, inside, members }: DeclaredRule, fault: Report): void {
  if (rule.rule === 'rename' && rule.member === rule.to) {
    fault(
      members[0] ?? inside,
      `change "${change}": rename gives "${rule.to}" the name it has; write the V2 name in to`,
    );
  }
  if (rule.rule === 'nest') {
    const at = members[rule.members.indexOf(rule.under)];
    if (at !== undefined) {
      fault(at, `change "${change}": nest would move "${rule.under}" into itself; remove it of the list`);
    }
  }
  if (rule.rule !== 'unwrap' && rule.in[0] === '*') {
    fault(
      inside,
      `change "${change}": the path begins with *, but a body that is an array is never rewritten; begin with a name`,
    );
  }
}
