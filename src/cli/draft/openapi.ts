import { stdout } from 'node:process';
import { parse, stringify } from 'yaml';
import { deriveV1 } from '../../openapi/derive/derive-v1.ts';
import { printJsonText } from '../../openapi/description.ts';
import { terminalText } from '../../report/text.ts';
import { type CommandFault, endWith, isFault, openRuleBook } from '../command-fault.ts';
import { readDescription, referenceDescription } from './description-file.ts';

/** Options of `openapi`. */
export interface OpenapiOptions {
  readonly format: 'json' | 'yaml';
  readonly rules: string;
}

/** Prints V1's description and sets the exit code; `source` is V2's. */
export async function runOpenapi(source: string | undefined, options: OpenapiOptions): Promise<void> {
  endWith(await print(source, options));
}

async function print(
  source: string | undefined,
  { format, rules }: OpenapiOptions,
): Promise<CommandFault | undefined> {
  const book = await openRuleBook(rules);
  if (isFault(book)) return book;
  const v2 = source === undefined ? await referenceDescription('v2') : await readDescription(source);
  if (isFault(v2)) return v2;
  const { description, notes } = deriveV1(v2, book.rules.ruleBook);
  for (const note of notes) process.stderr.write(`note: ${terminalText(note)}\n`);
  const json = printJsonText(description, 2);
  stdout.write(format === 'json' ? `${json}\n` : stringify(parse(json, { intAsBigInt: true })));
  return undefined;
}
