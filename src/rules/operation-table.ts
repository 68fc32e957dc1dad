import type { Operation } from './rule-book.ts';
import { looseSpelling, plainSpelling, readTemplate } from './template.ts';

/** Finds the operation of a request. The cost grows with the segments of the path, not with the number of operations. */
export class OperationTable {
  private readonly roots = new Map<string, Branch>();

  constructor(operations: readonly Operation[]) {
    for (const operation of operations) {
      let branch = this.roots.get(operation.method) ?? newBranch();
      this.roots.set(operation.method, branch);
      for (const segment of readTemplate(operation.template)) branch = addSegment(branch, segment);
      branch.operation = operation;
    }
  }

  /**
   * Returns the operation for `method` and the raw path below `/api/v1`, ignoring one trailing slash, a `.json` suffix of the
   * last segment and the encoding of unreserved characters: no spelling evades a rule. A path that matches no operation as sent
   * is matched again as a service reads it that decodes or merges slashes or drops path parameters. A literal segment of a
   * template takes precedence over a parameter.
   */
  match(method: string, path: string): Operation | undefined {
    const root = this.roots.get(method);
    if (root === undefined) return undefined;
    const plain = plainSpelling(path);
    const found = matchPlain(root, plain);
    if (found !== undefined) return found;
    const loose = looseSpelling(plain);
    return loose === plain ? undefined : matchPlain(root, loose);
  }
}

function matchPlain(root: Branch, plain: string): Operation | undefined {
  let end = plain.length;
  if (plain.charCodeAt(end - 1) === SLASH) end -= 1;
  if (plain.endsWith('.json', end)) end -= '.json'.length;
  return findBelow(root, plain, 0, end);
}

interface Branch {
  /** Absent at the last segment: most branches are leaves, and an empty map is large. */
  literals: Map<string, Branch> | undefined;
  parameter: Branch | undefined;
  operation: Operation | undefined;
}

const SLASH = 0x2f;

function newBranch(): Branch {
  return { literals: undefined, parameter: undefined, operation: undefined };
}

function addSegment(branch: Branch, segment: string | undefined): Branch {
  if (segment === undefined) return (branch.parameter ??= newBranch());
  branch.literals ??= new Map();
  const next = branch.literals.get(segment) ?? newBranch();
  branch.literals.set(segment, next);
  return next;
}

/** Descends from `at`, where a slash must be; at most as deep as the deepest template, however long the path is. */
function findBelow(branch: Branch, path: string, at: number, end: number): Operation | undefined {
  if (at >= end) return branch.operation;
  if (path.charCodeAt(at) !== SLASH) return undefined;
  const slash = path.indexOf('/', at + 1);
  const next = slash === -1 || slash > end ? end : slash;
  if (next === at + 1) return undefined;
  const literal = branch.literals?.get(path.slice(at + 1, next));
  const found = literal === undefined ? undefined : findBelow(literal, path, next, end);
  if (found !== undefined || branch.parameter === undefined) return found;
  return findBelow(branch.parameter, path, next, end);
}
