import type { Components } from '../components.ts';
import { compareShapes, type ShapeSource } from './compare-shapes.ts';
import { type DescribedOperation, type Description, followed, jsonSchemaIn } from '../description.ts';
import { type Comparison, type Finding, isProposed, pathText } from './finding.ts';
import { Places } from './find-places.ts';
import { objectIn } from '../json-object.ts';
import { ANY_SHAPE, isCompatible, type Shape, shapeOf } from '../shape.ts';

/** The body of an operation's request, as a description or recorded traffic shows it. */
export function requestShape(
  description: Description,
  { operation }: DescribedOperation,
  components: Components,
): Shape | undefined {
  const content = objectIn(followed(description, operation['requestBody']), 'content');
  const schema = jsonSchemaIn(content);
  return schema === undefined ? undefined : shapeOf(schema, components);
}

/** The name of a wrapper that the root object of V1 has and V2's has not, and how sure that is. */
export function wrapperOf(
  v1: Shape,
  v2: Shape,
): { readonly member: string; readonly confidence: number; readonly evidence: string } | undefined {
  const candidates = [...v1.members].flatMap(([member, { shape }]) => {
    const isObject = shape.members.size > 0 || shape.types.has('object');
    if (v2.members.has(member) || !isObject) return [];
    const beside = [...v1.members.keys()].filter((name) => name !== member);
    const inside = overlap(shape, v2);
    const others = beside.filter((name) => v2.members.has(name)).length;
    // Members beside the wrapper that V2 still has speak against it.
    if (others > 0 || (inside === 0 && shape.members.size > 0 && v2.members.size > 0)) return [];
    const confidence = Math.min(0.99, (beside.length === 0 ? 0.7 : 0.5) + 0.3 * inside);
    const share = Math.round(inside * 100);
    return [{ member, confidence, evidence: `V2's body has ${share} % of the members of V1's ${member}` }];
  });
  return candidates.toSorted((one, other) => other.confidence - one.confidence)[0];
}

/** The share of the members of `one` that `other` has, itself or in a sub-object. */
function overlap(one: Shape, other: Shape): number {
  const names = new Set(other.members.keys());
  for (const { shape } of other.members.values()) for (const name of shape.members.keys()) names.add(name);
  const common = [...one.members.keys()].filter((name) => names.has(name)).length;
  return one.members.size === 0 ? 0 : common / one.members.size;
}

/** Compares the bodies of a request in both versions. `wrapper` is the one that other operations have for certain. */
export function compareBodies(
  v1: Shape,
  v2: Shape,
  source: ShapeSource,
  wrapper: string | undefined,
): Comparison {
  if (v2.members.size === 0) return { findings: [], questions: bodyQuestions(v1, v2) };
  const unwrap = wrapperOf(v1, v2);
  const isKnown =
    wrapper !== undefined && v1.members.size === 1 && v1.members.has(wrapper) && !v2.members.has(wrapper);
  if (unwrap === undefined && !isKnown) return compareShapes(v1, v2, source);
  const member = isKnown ? wrapper : (unwrap?.member ?? '');
  const inner = v1.members.get(member)?.shape ?? v1;
  const finding: Finding = {
    found: { rule: 'unwrap', member },
    confidence: isKnown ? 0.95 : (unwrap?.confidence ?? 0),
    evidence: unwrap?.evidence ?? `every other operation has the wrapper ${member}`,
    doubt: wrapperDoubt(member, inner, v1, v2) ?? (isKnown ? undefined : emptyDoubt(member, inner)),
  };
  const isSure = isProposed(finding);
  const { findings, questions } = compareShapes(
    inner,
    v2,
    source,
    isSure ? undefined : `it holds only if ${pathText([member])} is a wrapper`,
  );
  const asked = `is ${pathText([member])} a wrapper that V2 does not have?`;
  const why = finding.doubt === undefined ? '' : ` ${finding.doubt}.`;
  return {
    findings: [finding, ...findings],
    questions: isSure ? questions : [`${asked}${why}`, ...questions],
  };
}

/** Why an unwrap could lose a value: the wrapper may be none, or V2 may have what stands beside it. */
function wrapperDoubt(member: string, inner: Shape, v1: Shape, v2: Shape): string | undefined {
  const [unread] = v2.unread;
  if (unread !== undefined) return `${unread} could not be read, and may have it`;
  if (inner.members.has(member)) return `what is in it has a ${member} as well`;
  const places = new Places(ANY_SHAPE, v2);
  for (const [name, { shape }] of v1.members) {
    if (name === member) continue;
    const fitting = [...v2.members].find(([young, other]) => {
      return !inner.members.has(young) && isCompatible(shape, other.shape);
    });
    const [place = fitting && [fitting[0]]] = places.of([[name]], shape);
    if (place === undefined && v2.further === '') continue;
    const where = place === undefined ? '' : ` as ${pathText(place)}`;
    return `V1 has ${pathText([name])} beside it, which an unwrap drops and V2 may have${where}`;
  }
  return undefined;
}

function emptyDoubt(member: string, inner: Shape): string | undefined {
  return inner.members.size === 0 ? `V1 does not say what is in ${member}` : undefined;
}

/** What to say about a body of which V2 describes no member: nothing is known to be gone. */
function bodyQuestions(v1: Shape, v2: Shape): readonly string[] {
  const [unread] = v2.unread;
  if (unread !== undefined) return [`V2's body, ${unread}, could not be read, so that no rule is proposed.`];
  return v1.members.size === 0
    ? []
    : ["V2's description names no member of the body, so that no rule is proposed."];
}
