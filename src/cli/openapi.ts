import { stdout } from 'node:process';
import { type Command, Option } from 'commander';
import { parse, stringify } from 'yaml';
import { loadRuleBook } from '../node/rule-book-file.ts';
import { deriveV1 } from '../openapi/derive-v1.ts';
import { printJsonText } from '../openapi/json-text.ts';
import { terminalText } from '../report/untrusted-text.ts';
import { readDescription, referenceDescription } from './description-file.ts';

interface OpenapiOptions {
  readonly format: 'json' | 'yaml';
  readonly rules: string;
}

/** Adds the command `openapi`: prints V1's description. Exit code 2 when V2's or the rule book cannot be read. */
export function openapi(program: Command): void {
  program
    .command('openapi')
    .summary("print V1's OpenAPI description, derived from V2's and the rule book")
    .description(
      "Prints V1's OpenAPI description: V2's with every change of the rule book undone. x-change lists the changes that a part differs by. What the description cannot show is listed on stderr.",
    )
    .argument(
      '[v2]',
      "V2's description: a file, a URL or - for stdin (default: that of the embedded reference)",
    )
    .addOption(new Option('--format <format>', 'output format').choices(['json', 'yaml']).default('json'))
    .option('--rules <file>', 'rule book', process.env['GATEWAY_RULES'] ?? 'config/rules.yaml')
    .action(async (source: string | undefined, options: OpenapiOptions) => {
      const fault = await run(source, options);
      if (fault === undefined) return;
      process.stderr.write(`${fault}\n`);
      process.exitCode = 2;
    });
}

async function run(
  source: string | undefined,
  { format, rules }: OpenapiOptions,
): Promise<string | undefined> {
  const book = await loadRuleBook(rules);
  if ('faults' in book) return book.faults.join('\n');
  const v2 = source === undefined ? await referenceDescription('v2') : await readDescription(source);
  if ('fault' in v2 && typeof v2.fault === 'string') return v2.fault;
  const { description, notes } = deriveV1(v2, book.rules.ruleBook);
  for (const note of notes) process.stderr.write(`note: ${terminalText(note)}\n`);
  // A reader such as head closes early.
  stdout.on('error', () => {});
  const json = printJsonText(description, 2);
  stdout.write(format === 'json' ? `${json}\n` : stringify(parse(json, { intAsBigInt: true })));
  return undefined;
}
