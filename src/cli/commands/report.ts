import { type Command, InvalidArgumentError } from 'commander';
import type { ReportOptions } from '../report/report-options.ts';
import { addFormat, rulesOption } from './shared-options.ts';

/**
 * Defines `report`, which lists the clients that still need V1, from logs of any size. Exit code 1 when a file has lines but no
 * entry, 2 when it cannot be read.
 */
export function report(command: Command): void {
  command
    .description(
      'Reads rewrite logs, plain, gzip or Zstandard, and lists the clients that still need V1, with their reasons. Logs of many replicas are read as one, by time; gaps in one of them are reported. Without a file it reads stdin.',
    )
    .argument('[files...]', 'log files, folders of logs, or glob patterns; - is stdin')
    .optionsGroup('Clients:')
    .option('--names <file>', 'YAML or JSON file of display names by client hash')
    .option('--gone-after <days>', 'days without a V1 request after which a client counts as gone', days, 14)
    .option(
      '--at <time>',
      'time from which silence counts, such as 2026-11-22; later entries are left out; now by default',
      pointInTime,
    )
    .optionsGroup('Guides and digests:')
    .option('--guide', 'print the migration guide of one client: md, html or json')
    .option('--client <hash>', 'first digits of a client hash, for --guide')
    .option('--digest', 'print a digest for each client that still uses V1, to mail to its owner: md or json')
    .optionsGroup('Attributes:')
    .option('--census', 'print the attribute census only, with strip rules to paste')
    .option('--openapi <file>', 'OpenAPI description of V2, for the census: JSON or YAML')
    .option('--apply', 'with --census: write the proposed strip rules into the rule book')
    .addOption(rulesOption('rule book, for --guide, --digest, --apply and --openapi'));
  addFormat(command, ['text', 'json', 'csv', 'md', 'html']).action(
    async (files: readonly string[], options: ReportOptions) => {
      const { runReport } = await import('../report/report.ts');
      await runReport(files.length === 0 ? ['-'] : files, options);
    },
  );
}

/** Silence of 0 days would be that of every client between two of its requests. */
function days(text: string): number {
  if (!/^\d{1,4}$/.test(text) || Number(text) === 0)
    throw new InvalidArgumentError('It must be a number of days from 1 to 9999, such as 14.');
  return Number(text);
}

/** Reads a day or a time in RFC 3339. */
function pointInTime(text: string): string {
  const time = /^\d{4}-\d{2}-\d{2}(?:T.+)?$/.test(text) ? new Date(text) : new Date(Number.NaN);
  if (Number.isNaN(time.valueOf()))
    throw new InvalidArgumentError('It must be a day or a time, such as 2026-11-22 or 2026-11-22T09:00:00Z.');
  return time.toISOString();
}
