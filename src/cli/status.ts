import type { Status } from '../inspector/api.ts';
import { beyondVerdict } from '../inspector/conditions.ts';
import { jsonText, terminalLines } from '../report/text.ts';
import { openAdmin } from './admin-client.ts';
import { type CommandFault, FAILURE, isFault } from './command-fault.ts';
import type { RolloutOptions } from './rollout.ts';
import { terminalOf, wrapLines } from './terminal.ts';

/** Characters of the level before each condition. */
const LABEL = 8;

/** Prints the verdict of a running gateway, and the conditions behind it; the exit code is 1 if requests fail. */
export async function printStatus(
  options: Pick<RolloutOptions, 'admin' | 'config' | 'format'>,
): Promise<CommandFault | undefined> {
  const client = await openAdmin(options.admin, options.config);
  if (isFault(client)) return client;
  const status = await client.view<Status>('/status', 'verdict');
  if (isFault(status)) return { ...status, fault: terminalLines(status.fault) };
  process.stdout.write(
    options.format === 'json'
      ? `${jsonText(status)}\n`
      : statusText(status, terminalOf(process.stdout).columns),
  );
  if (status.verdict.level === 'bad') process.exitCode = FAILURE;
  return undefined;
}

/** How to end it from here. */
function backLines(action: Status['verdict']['action']): readonly string[] {
  if (action === undefined) return [];
  const { title, request } = action;
  const share = request.share === undefined ? '' : ` ${request.share}`;
  const operation = request.operation === undefined ? '' : ` --operation ${request.operation}`;
  const client = request.client === undefined ? '' : ` --client ${request.client}`;
  return [`${title}: capture-gateway rollout ${request.mode}${share}${operation}${client}`];
}

/** The verdict, and below it the other conditions that make requests fail or may do so. */
export function statusText({ verdict, conditions }: Status, columns: number | undefined): string {
  const others = beyondVerdict(verdict, conditions).filter(
    ({ level }) => level === 'bad' || level === 'note',
  );
  const lines = [
    verdict.sentence,
    ...backLines(verdict.action),
    ...others.map(({ level, sentence }) => `${level.padEnd(LABEL)}${sentence}`),
  ];
  return `${wrapLines(terminalLines(lines.join('\n')), columns, LABEL)}\n`;
}
