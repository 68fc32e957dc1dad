import { missingAddresses } from '../rules/check-lookups.ts';
import { InverseIndex, type InvertedRule, resourcePath } from '../rules/inverse.ts';
import { readPaths } from '../rules/kinds/books.ts';
import { isOfSuccess, placeInWraps } from '../rules/kinds/wrap.ts';
import { shapeAtV2 } from '../rules/move.ts';
import type { Change, Operation, RuleBook } from '../rules/rule-book.ts';
import { type Path, printPath, templateShape } from '../rules/rule.ts';
import { Components } from './components.ts';
import {
  type DescribedOperation,
  describedOperations,
  type Description,
  followed,
  isJsonMedia,
  memberOf,
  objectIn,
  templateOf,
} from './description.ts';
import { type Shape, shapeOf } from './shape.ts';

/** Maximum members that a sentence names. */
const MAX_NAMED = 5;

/** Sentences about rules for responses that can apply to none that V2 describes, with the remedy. */
export function unmetRules(book: RuleBook, v2: Description): readonly string[] {
  return [...unmetInverses(book, v2), ...namesOfWrappers(book, v2)];
}

/** Sentences about rules that name a member behind the one in which `wrap` puts the body later, where V2 has no such member. */
function namesOfWrappers({ operations, changes }: RuleBook, v2: Description): readonly string[] {
  const components = new Components(v2);
  const described = describedOperations(v2, 'v2');
  const appliesTo = ({ on }: Change, { id }: Operation): boolean => on === 'every' || on.includes(id);
  const shapesOf = (operation: Operation): ReturnType<typeof successShapes> => {
    const found = described.find((other) => isSame(other, operation));
    return found === undefined || operation.transform !== undefined
      ? []
      : successShapes(found, v2, components);
  };
  return changes.flatMap((change) =>
    change.response.flatMap((rule) =>
      (rule.rule === 'inverse' || !isOfSuccess(rule) ? [] : readPaths(rule)).flatMap(
        ([name = '', ...path]) => {
          const wrapped = operations.filter((operation) => {
            const rules = changes.flatMap((one) => (appliesTo(one, operation) ? one.response : []));
            return path.length > 0 && appliesTo(change, operation) && placeInWraps(rules).includes(name);
          });
          const shown = wrapped.map((operation) => [operation, shapesOf(operation)] as const);
          const lack = ({ shape }: { readonly shape: Shape }): boolean => !mayHave(shape, [name]);
          return shown.every(([, shapes]) => shapes.length > 0 && shapes.every(lack))
            ? wrapped.map(
                ({ id }) =>
                  `operation "${id}": ${change.id} names ${printPath([name, ...path])}, and V2's response has no ${name}: wrap puts the body there after all other rules, so name ${printPath(path)}`,
              )
            : [];
        },
      ),
    ),
  );
}

/**
 * Finds, by V2's description, operations whose responses `inverse` can never undo: it looks for the resource where the rule book says, and
 * a response without it reaches the V1 client in V2's shape. Returns one sentence for each operation, with the remedy; none where the
 * description does not show the response.
 */
function unmetInverses(book: RuleBook, v2: Description): readonly string[] {
  const inverse = new InverseIndex(book.operations, book.changes, book.resource);
  const components = new Components(v2);
  const described = describedOperations(v2, 'v2');
  return book.operations.flatMap((operation) => {
    // A transform changes the response before the rules, and no description has what it returns.
    if (operation.transform !== undefined) return [];
    const inverted = inverse.of(operation);
    const changes = new Set(inverted.map(({ change }) => change));
    const found = described.find((other) => isSame(other, operation));
    if (changes.size === 0 || found === undefined) return [];
    const resource = resourcePath(operation, book.resource);
    const without = successShapes(found, v2, components).find(
      ({ shape }) => !mayHave(shape, resource) || (resource.length === 0 && meetsNone(shape, inverted)),
    );
    if (without === undefined) return [];
    const { status, shape } = without;
    const names = [...shape.members.keys()];
    const has =
      shape.element === undefined
        ? `has ${names.slice(0, MAX_NAMED).join(', ')}${names.length > MAX_NAMED ? ', …' : ''}`
        : 'is a list';
    return [
      `operation "${operation.id}": inverse of ${[...changes].join(', ')} meets no member: V2's response ${status} has no ${wantedWords(resource, inverted)} (it ${has}), so that V1 clients read V2's names; say with resource where it has the resource, or write response rules with the paths that it has`,
    ];
  });
}

/** Sentences about operations that moved to a place that V2's description does not have. */
export function missingDestinations(
  { operations, to: prefix }: RuleBook,
  v2: Description,
): readonly string[] {
  const described = describedOperations(v2, 'v2');
  return operations.flatMap((operation) => {
    const { id, to } = operation;
    if (to === undefined || described.some((other) => isSame(other, operation))) return [];
    const path = shapeAtV2(operation);
    const methods = described.flatMap((other) => (shapeIn(other) === path ? [other.method] : []));
    const hint =
      methods.length > 0
        ? `it has ${methods.join(', ')} there`
        : `correct to, or the description if it lacks the operation`;
    return [
      `operation "${id}": V2's description has no ${to.method} ${to.template} below ${prefix}; ${hint}`,
    ];
  });
}

/** Finds lookups whose address is not a GET of V2's description. Returns one sentence for each. */
export function missingLookups(book: RuleBook, v2: Description): readonly string[] {
  const described = describedOperations(v2, 'v2');
  return missingAddresses(book, (shape) =>
    described.flatMap((other) => (shapeIn(other) === shape ? [other.method] : [])),
  );
}

function isSame(described: DescribedOperation, operation: Operation): boolean {
  const { method, to } = operation;
  return described.method === (to?.method ?? method) && shapeIn(described) === shapeAtV2(operation);
}

function shapeIn(described: DescribedOperation): string | undefined {
  const template = templateOf(described);
  return template === undefined ? undefined : templateShape(template);
}

/** The shapes of the successful responses in JSON, by status. */
function successShapes(
  { operation }: DescribedOperation,
  v2: Description,
  components: Components,
): readonly { readonly status: string; readonly shape: Shape }[] {
  return Object.entries(objectIn(operation, 'responses')).flatMap(([status, declared]) => {
    if (!status.startsWith('2')) return [];
    const content = Object.entries(objectIn(followed(v2, declared), 'content'));
    return content.flatMap(([name, media]) => {
      const schema = memberOf(media, 'schema');
      return isJsonMedia(name) && schema !== undefined
        ? [{ status, shape: shapeOf(schema, components) }]
        : [];
    });
  });
}

/** True if a response of this shape may have a value at the path; a shape without details may have any. */
function mayHave({ members, element }: Shape, [name, ...rest]: Path): boolean {
  if (name === undefined) return true;
  if (element !== undefined) return false;
  const below = members.get(name);
  return below === undefined ? members.size === 0 : mayHave(below.shape, rest);
}

/** True if the body (or, for a list, its elements) certainly has none of the members that the rules name. */
function meetsNone(shape: Shape, inverted: readonly InvertedRule[]): boolean {
  const { members } = shape.element ?? shape;
  if (members.size === 0) return false;
  // There is a rule for the body, and one for the elements of a list.
  return !pathsIn(inverted).some(([first = '', second = '']) =>
    shape.element === undefined ? members.has(first) : first === '*' && members.has(second),
  );
}

/** The members that the rules read. A rule with `json` adds one, which V2 does not have. */
function pathsIn(inverted: readonly InvertedRule[]): readonly Path[] {
  return inverted.flatMap(({ rule }) => ('json' in rule ? [] : readPaths(rule)));
}

/** Describes the part that a response without a resource lacks. */
function wantedWords(resource: Path, inverted: readonly InvertedRule[]): string {
  if (resource.length > 0) return resource.join('.');
  const names = pathsIn(inverted).map((path) => printPath(path.slice(path[0] === '*' ? 1 : 0)));
  return [...new Set(names)].join(' and no ');
}
