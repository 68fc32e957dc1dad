import type { DeclaredChange } from './declared-change.ts';
import type { LookupRule } from './kinds/lookup.ts';
import { addressFault, shapeOfAddress, shapeAtV2 } from './move.ts';
import type { SourceFault, SourcePath } from './rule-book-fault.ts';
import type { RuleBookSource } from './rule-book-source.ts';
import type { Operation, RuleBook } from './rule-book.ts';
import { printAddress } from './rule.ts';

type LookupSource = Partial<Readonly<Record<'get' | 'many' | 'by', unknown>>>;

/**
 * The faults of lookups: an invalid address, or that of the operation itself; `fail` for a request that V2 has carried out; and a
 * webhook, which has no client with credentials.
 */
export function lookupFaults(
  source: RuleBookSource,
  changes: readonly DeclaredChange[],
  operations: ReadonlyMap<string, Operation>,
  prefix: string,
): readonly SourceFault[] {
  const faults: SourceFault[] = [];
  for (const { change, response } of changes) {
    for (const { rule, path } of response) {
      if (!('address' in rule)) continue;
      const on = change.on === 'every' ? [] : change.on.flatMap((id) => operations.get(id) ?? []);
      const fault = (key: string | undefined, message: string): void => {
        const at = key === undefined ? path : [...path, key];
        faults.push({ path: at, message: `change "${change.id}": lookup ${message}` });
      };
      checkAddress(rule, sourceAt(source, path), prefix, fault);
      const shape = shapeOfAddress(rule.address);
      const own = on.find((one) => methodAtV2(one) === 'GET' && shapeAtV2(one) === shape);
      if (own !== undefined)
        fault(undefined, `has the address of operation "${own.id}" itself; look up another address`);
      const write = change.on === 'every' ? 'every' : on.find((one) => !isReadAtV2(one))?.id;
      if (rule.absent === 'fail' && write !== undefined)
        fault(
          'absent',
          `must not fail for "${write}": V2 has carried out the write, and a client that gets an error would send it again; write omit or null`,
        );
      for (const [name, { as }] of Object.entries(source.webhooks ?? {}))
        if (as !== undefined && on.some(({ id }) => id === as))
          faults.push({
            path: ['webhooks', name, 'as'],
            message: `webhook "${name}": operation "${as}" looks something up, and a delivery has no client whose credentials V2 would accept; name an operation without lookup`,
          });
    }
  }
  return faults;
}

function checkAddress(
  rule: LookupRule,
  { get, many, by }: LookupSource,
  prefix: string,
  fault: (key: string | undefined, message: string) => void,
): void {
  const [key, text] = many === undefined ? (['get', get] as const) : (['many', many] as const);
  if (get !== undefined && many !== undefined)
    fault('many', 'has two addresses: write get, for a request an object, or many, for one for all');
  else if (typeof text !== 'string')
    fault(undefined, 'has no address; write get: /users/{owner_id}, or many: /users?ids={}');
  else {
    const wrong = addressFault(text, rule.path.at(-1) ?? '', prefix);
    if (wrong !== undefined) fault(key, `has the address ${text}, which ${wrong}`);
  }
  if (by !== undefined && many === undefined)
    fault('by', 'has no use for by without many: the address of get leads to one object; remove it');
}

/** Warns of lookups whose address is not a GET of V2's description; `methods` returns the methods that the description has at a path. */
export function missingAddresses(
  { changes, to }: Pick<RuleBook, 'changes' | 'to'>,
  methods: (shape: string) => readonly string[],
): readonly string[] {
  return changes.flatMap(({ id, response }) =>
    response.flatMap((rule) => {
      if (!('address' in rule)) return [];
      const found = methods(shapeOfAddress(rule.address));
      if (found.includes('GET')) return [];
      const hint =
        found.length > 0
          ? `it has ${found.join(', ')} there, and only GET is looked up`
          : 'correct the address, or the description if it lacks the operation';
      return `change "${id}": V2's description has no GET ${printAddress(rule.address)} below ${to}; ${hint}`;
    }),
  );
}

function methodAtV2({ method, to }: Operation): string {
  return to?.method ?? method;
}

function isReadAtV2(operation: Operation): boolean {
  return ['GET', 'HEAD', 'OPTIONS', 'QUERY'].includes(methodAtV2(operation));
}

/** The mapping in the source that a rule was read from. */
function sourceAt(source: RuleBookSource, path: SourcePath): LookupSource {
  let value: unknown = source;
  for (const key of path)
    value =
      typeof value === 'object' && value !== null
        ? new Map<string, unknown>(Object.entries(value)).get(String(key))
        : undefined;
  return typeof value === 'object' && value !== null ? value : {};
}
