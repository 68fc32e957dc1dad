import { type NameTable, printScalar } from '../../json/names.ts';
import { markChanged } from '../../edits/draft.ts';
import { type MappedValue, MappedValues } from '../../edits/mapped-values.ts';
import { aboutMember, type CompiledRule, type Path, PLAIN, type RuleBase, STEPS } from '../../edits/run.ts';
import type { Kind, StatusPattern, Words, Lens } from './kind.ts';

/** Replaces the value of the member `member` of each object at `in`, if it is a string or scalar that `values` lists. */
export interface MapRule {
  readonly rule: 'map';
  readonly member: string;
  readonly in: Path;
  readonly values: readonly MappedValue[];
}

/** Replaces the value of the member at `path` of a response, if it is a string or scalar that `values` lists: V2's by V1's. */
export interface ResponseMapRule {
  readonly rule: 'map';
  readonly path: Path;
  readonly values: readonly MappedValue[];
  readonly status: readonly StatusPattern[];
}

/** Its work on the bytes of requests. */
export const kind: Kind<MapRule> = { compile };

/** Each value comes back that only one value becomes. */
export const lens: Lens<MapRule, ResponseMapRule> = {
  changesValue: true,
  moves: () => [],
  inverse: (rule, objects) => {
    const values = inverseValues(rule.values);
    if (values.length === 0) return { reason: 'shared' };
    return [{ rule: 'map', path: [...objects, rule.member], values }];
  },
};

/** What people read of it. */
export const words: Words<MapRule, ResponseMapRule> = {
  of: 'both',
  named: ({ member }) => [[member]],
  say: ({ values }, name, where) => `map ${name}${where}: ${mappedWords(values)}`,
  none: ({ member }, place) => `${place} has no ${member} with one of these values.`,
  done: ({ name }) => `The value of ${name} becomes the one that V2 has for it.`,
};

/**
 * Returns the values of a map in the other direction. A value that several values map to has no inverse, so it is left out and
 * stays as it is.
 */
export function inverseValues(values: readonly MappedValue[]): readonly MappedValue[] {
  const times = new Map<string, number>();
  for (const { to } of values) times.set(printScalar(to), (times.get(printScalar(to)) ?? 0) + 1);
  return values
    .filter(({ to }) => times.get(printScalar(to)) === 1)
    .map(({ from, to }) => ({ from: to, to: from }));
}

/** Replaces the value of the named member, if the map lists it. */
function compile(rule: MapRule, base: RuleBase, names: NameTable): CompiledRule {
  const values = new MappedValues(rule.values);
  return aboutMember(rule, base, names, (run, object, member) => {
    const position = values.find(run.draft, member);
    run.lookups.push({ values, node: member.node });
    if (position < 0) return undefined;
    member.literal = values.text(position);
    markChanged(object);
    run.step(base.code + position * STEPS + PLAIN);
    run.recorder?.replace(base, member, values.value(position) ?? null);
    return undefined;
  });
}

function mappedWords(values: readonly MappedValue[]): string {
  return values.map(({ from, to }) => `${printScalar(from)} to ${printScalar(to)}`).join(', ');
}
