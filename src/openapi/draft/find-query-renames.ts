import type { Components } from '../components.ts';
import { type DescribedOperation, followed } from '../description.ts';
import type { ResolvedDescription } from './find-inverse.ts';
import { findRenames } from './find-renames.ts';
import { isProposed } from './finding.ts';
import { NO_LINK } from './rename-score.ts';
import { elementsOf, memberOf } from '../json-object.ts';
import type { MatchedOperation } from './match-operations.ts';
import type { ProposedChange, ProposedQueryRule } from './propose-changes.ts';
import { ANY_SHAPE, type MemberShape, type Shape, shapeOf } from '../shape.ts';

/** Finds query parameters that V2 calls otherwise, as a body does in `known`; those that are merely gone are questions. */
export function findQueryRenames(
  named: readonly { readonly pair: MatchedOperation; readonly operation: { readonly id: string } }[],
  v1: ResolvedDescription,
  v2: ResolvedDescription,
  known: readonly ProposedChange[],
): { readonly changes: readonly ProposedChange[]; readonly questions: readonly string[] } {
  const changes = new Map<string, { readonly on: string[]; readonly rule: ProposedQueryRule }>();
  const questions: string[] = [];
  for (const { pair, operation } of named) {
    const [old, young] = [queryShape(pair.v1, v1), queryShape(pair.v2, v2)];
    const { accepted } = findRenames(old, young, { nests: [], isRecorded: false });
    for (const { from, to, confidence, evidence, ...found } of accepted) {
      const doubt = found.doubt === NO_LINK && isKnown(from, to, known) ? undefined : found.doubt;
      const key = JSON.stringify([from, to, doubt === undefined]);
      const change = changes.get(key) ?? { on: [], rule: { rename: from, to, confidence, evidence, doubt } };
      changes.set(key, change);
      change.on.push(operation.id);
      if (doubt !== undefined)
        questions.push(`${operation.id}: is the query parameter ${from} called ${to} in V2? But ${doubt}.`);
    }
    for (const name of old.members.keys()) {
      if (young.members.has(name) || accepted.some(({ from }) => from === name)) continue;
      questions.push(`${operation.id}: V2 does not describe the query parameter ${name}.`);
    }
  }
  const proposed = [...changes.values()].map(({ on, rule }): ProposedChange => ({
    id: `${rule.to}-parameter`
      .replaceAll(/[^\w.-]|_/g, '-')
      .replace(/^[^A-Za-z]+/, '')
      .slice(0, 60),
    summary: `The query parameter ${rule.rename} is called ${rule.to}.`,
    on,
    rules: [],
    query: [rule],
  }));
  return { changes: proposed, questions };
}

/** True when a body has the member of one name by the other one, for certain. */
function isKnown(from: string, to: string, known: readonly ProposedChange[]): boolean {
  return known.some(({ rules }) =>
    rules.some((rule) => {
      const { found } = rule;
      return isProposed(rule) && found.rule === 'rename' && found.member === from && found.to === to;
    }),
  );
}

/** The query parameters of an operation as the members of an object. */
function queryShape(
  { operation, item }: DescribedOperation,
  { description, components }: ResolvedDescription,
): Shape {
  const declared = [...elementsOf(item['parameters']), ...elementsOf(operation['parameters'])];
  const members = declared.flatMap((one) => parameterIn(followed(description, one), components));
  return { ...ANY_SHAPE, members: new Map(members) };
}

function parameterIn(
  parameter: unknown,
  components: Components,
): readonly (readonly [string, MemberShape])[] {
  const name = memberOf(parameter, 'name');
  if (memberOf(parameter, 'in') !== 'query' || typeof name !== 'string') return [];
  const shape = shapeOf(memberOf(parameter, 'schema'), components);
  const text = memberOf(parameter, 'description');
  const described = typeof text === 'string' ? { ...shape, text } : shape;
  return [[name, { shape: described, required: memberOf(parameter, 'required') === true }]];
}
