import type { Operation } from './rule-book.ts';
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
      operations.push({ id, method, template, assumed });
      continue;
    }
    const message = `operation "${id}": ${method} ${template} matches the same requests as "${other}"; remove one of them`;
    faults.push({ path, blame: 'value', message });
  }
  return { operations, faults };
}
