import { type Command, Option } from 'commander';
import type { DraftOptions } from '../draft/draft.ts';
import { adminOption, OUTPUT } from './shared-options.ts';

/** Defines `draft`, which writes a rule book from two descriptions, or from V2's and recorded traffic. */
export function draft(command: Command): void {
  command
    .description(
      "Compares V1's and V2's OpenAPI descriptions and writes a rule book, each rule with its evidence and a confidence in a comment, and questions where it cannot decide. Without --v1, recorded requests take the place of V1's description. Recorded requests are then migrated with the draft, and what V2's schemas would refuse is listed on stderr. Exit code 1 if there is any, or if the draft has faults.",
    )
    .optionsGroup('Descriptions:')
    .requiredOption('--v2 <description>', "V2's description: a file or a URL")
    .option('--v1 <description>', "V1's description: a file or a URL")
    .optionsGroup('Recorded requests:')
    .option('--har <file>', 'recorded requests: a HAR file')
    .option('--postman <file>', 'recorded requests: a Postman collection')
    .option('--log <file>', 'recorded requests: a rewrite log, which has names but no values')
    .addOption(
      adminOption(
        'recorded requests: those captured by a running gateway; its token is read from GATEWAY_ADMIN_TOKEN or GATEWAY_ADMIN_TOKEN_FILE',
      ),
    )
    .addOption(new Option('--out <file>', 'rule book to write (default: stdout)').helpGroup(OUTPUT))
    .addOption(
      new Option(
        '--json',
        "print the result as JSON: rule book, its faults, and what V2's schemas refuse",
      ).helpGroup(OUTPUT),
    )
    .action(async (options: DraftOptions) => {
      const { runDraft } = await import('../draft/draft.ts');
      await runDraft(options);
    });
}
