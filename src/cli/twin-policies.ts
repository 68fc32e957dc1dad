import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseDocument } from 'yaml';

/**
 * Policies with which the gateway decides as V1 does: it refuses a body without the wrapper, reads the last of two members, and
 * leaves what is no JSON in UTF-8 to the service. Those of the shipped rule book are more lenient, or safer.
 */
const POLICIES_OF_V1: Readonly<Record<string, string>> = {
  flat: 'refuse',
  duplicate: 'last',
  malformed: 'forward',
  unsupported: 'forward',
};

/** Writes the rule book at `path` with the policies of V1 into `folder`; returns the path of the new file. */
export function withPoliciesOfV1(path: string, folder: string): string {
  const document = parseDocument(readFileSync(path, 'utf8'));
  for (const [name, value] of Object.entries(POLICIES_OF_V1)) document.setIn(['policies', name], value);
  const file = join(folder, 'rules.yaml');
  writeFileSync(file, document.toString());
  return file;
}
