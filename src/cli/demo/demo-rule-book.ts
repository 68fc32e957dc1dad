import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isMap, isSeq, parseDocument } from 'yaml';
import { loadRuleBook } from '../../node/rule-book-file.ts';
import { settings } from '../../settings/settings.ts';

/** A rule book in a temporary file. */
export interface TemporaryRuleBook {
  readonly path: string;
  /** Removes the file. */
  readonly remove: () => void;
}

/**
 * Writes the shipped rule book to a temporary file, with `attribute` in the `strip` rule of its change `removed-attributes`, as an
 * operator would list it. Undefined when the shipped rule book cannot be read, or has no such rule: the start says why.
 */
export async function writeDemoRuleBook(attribute: string): Promise<TemporaryRuleBook | undefined> {
  const shipped = await loadRuleBook(settings.rules.value);
  if ('faults' in shipped) return undefined;
  const text = withStripped(shipped.text, attribute);
  if (text === undefined) return undefined;
  const folder = mkdtempSync(join(tmpdir(), 'capture-gateway-demo-'));
  const path = join(folder, 'rules.yaml');
  writeFileSync(path, text);
  return { path, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

function withStripped(text: string, attribute: string): string | undefined {
  const document = parseDocument(text);
  const changes = document.get('changes');
  if (!isSeq(changes)) return undefined;
  const at = changes.items.findIndex((change) => isMap(change) && change.get('id') === 'removed-attributes');
  const stripped = document.getIn(['changes', at, 'request', 0, 'strip']);
  if (!isSeq(stripped)) return undefined;
  stripped.add(attribute);
  return document.toString();
}
