import { didYouMean } from './did-you-mean.ts';
import { readPath } from './path-text.ts';
import type { Embedding, Operation } from './rule-book.ts';
import type { SourceFault } from './rule-book-fault.ts';
import type { RuleBookSource } from './rule-book-source.ts';
import { templateFault, templateShape } from './template.ts';

/** Reads the operations of a source, in order; those with a faulty template are left out. */
export function checkOperations(source: RuleBookSource['operations'] = {}): {
  readonly operations: readonly Operation[];
  readonly faults: readonly SourceFault[];
} {
  const operations: Operation[] = [];
  const faults: SourceFault[] = [];
  const shapes = new Map<string, string>();
  for (const [id, declared] of Object.entries(source)) {
    const match = typeof declared === 'string' ? declared : declared.match;
    const assumed = typeof declared === 'string' ? false : (declared.assumed ?? false);
    const [method = '', template = ''] = match.split(' ');
    const path = typeof declared === 'string' ? ['operations', id] : ['operations', id, 'match'];
    const fault = templateFault(template);
    if (fault !== undefined) {
      faults.push({
        path,
        blame: 'value',
        message: `operation "${id}": the path ${JSON.stringify(template)} ${fault}`,
      });
      continue;
    }
    const shape = `${method} ${templateShape(template)}`;
    const other = shapes.get(shape);
    if (other === undefined) {
      shapes.set(shape, id);
      operations.push({ id, method, template, assumed, ...embeddings(declared) });
      continue;
    }
    const message = `operation "${id}": ${method} ${template} matches the same requests as "${other}"; remove one of them`;
    faults.push({ path, blame: 'value', message });
  }
  faults.push(...checkEmbeds(source));
  return { operations, faults };
}

type OperationSource = NonNullable<RuleBookSource['operations']>[string];

function embeddings(declared: OperationSource): { readonly embeds?: readonly Embedding[] } {
  const embeds = embedsOf(declared);
  if (embeds.length === 0) return {};
  return { embeds: embeds.map(([path, operation]) => ({ path: readPath(path), operation })) };
}

function embedsOf(declared: OperationSource): readonly (readonly [path: string, operation: string])[] {
  return typeof declared === 'string' ? [] : Object.entries(declared.embeds ?? {});
}

/** An embedded resource is named by an operation that writes it. */
function checkEmbeds(source: NonNullable<RuleBookSource['operations']>): readonly SourceFault[] {
  const ids = new Set(Object.keys(source));
  const faults: SourceFault[] = [];
  for (const [id, declared] of Object.entries(source)) {
    for (const [path, writer] of embedsOf(declared)) {
      if (ids.has(writer)) continue;
      const hint = didYouMean(writer, ids);
      faults.push({
        path: ['operations', id, 'embeds', path],
        blame: 'value',
        message: `operation "${id}": "${writer}" is not among the operations${hint === '' ? '; declare it there, or remove it' : hint}`,
      });
    }
  }
  return faults;
}
