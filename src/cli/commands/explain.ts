import { type Command, Option } from 'commander';
import type { ExplainOptions } from '../explain/explain.ts';
import { addFormat, OUTPUT, rulesOption } from './shared-options.ts';

/**
 * Defines `explain`. Exit codes: 0; 1 when a request is refused (or edited, with the option that asks for it), or the input is
 * junk; 2 when nothing can be explained.
 */
export function explain(command: Command): void {
  command
    .description(
      'Shows edits, diff, V2 request, the policies that decided, and why other rules did nothing. The file holds the JSON body of one request; - is stdin.',
    )
    .argument('[file]', 'JSON body of a request; it needs --operation, or --method and --target')
    .optionsGroup('Request of the file:')
    .option('--operation <id>', 'operation of the request in the file')
    .option('--method <method>', 'method, if no operation is given')
    .option('--target <target>', 'path and query as the client sends them, such as /api/v1/clients')
    .optionsGroup('Other requests:')
    .option('--curl <command>', 'request as a curl command')
    .option('--har <file>', 'every request of a HAR file')
    .option('--postman <file>', 'every request of a Postman collection')
    .option('--log <file>', 'requests reconstructed from a rewrite log, without values')
    .addOption(rulesOption());
  addFormat(command, ['text', 'json'])
    .addOption(
      new Option('--fail-on <result>', 'result that gives exit code 1')
        .choices(['refused', 'edits', 'never'])
        .default('refused')
        .helpGroup(OUTPUT),
    )
    .action(async (file: string | undefined, options: ExplainOptions) => {
      const { runExplain } = await import('../explain/explain.ts');
      await runExplain(file, options);
    });
}
