import type { Status } from '../inspector/api.ts';
import { beyondVerdict } from '../inspector/verdict.ts';
import { withShortTimes } from '../report/clock.ts';
import { jsonText, terminalLines } from '../report/text.ts';
import { type AdminClient, openAdmin } from './admin-client.ts';
import { type CommandFault, FAILURE, isFault } from './command-fault.ts';
import type { RolloutRequest, RolloutView } from '../rollout/rollout-tally.ts';
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
  if (options.format === 'json') process.stdout.write(`${jsonText(status)}\n`);
  else {
    const rollout = await client.view<RolloutView>('/rollout', 'default');
    const next = isFault(rollout) ? [] : await nextLines(client, rollout, status);
    process.stdout.write(statusText(status, terminalOf(process.stdout).columns, next));
  }
  if (status.verdict.level === 'bad') process.exitCode = FAILURE;
  return undefined;
}

/** The next step, and what the gateway says of its command that is not told above. */
async function nextLines(
  client: AdminClient,
  rollout: RolloutView,
  { verdict, conditions }: Status,
): Promise<readonly string[]> {
  const step = nextStep(rollout);
  if (step === undefined) return [];
  const [sentence, command] = step;
  const body = JSON.stringify({ ...command, check: true });
  const checked = command && (await client.view<RolloutView>('/rollout', 'default', body));
  if (checked === undefined || isFault(checked)) return [sentence];
  const { warnings = [], refusal = '' } = checked;
  const told = new Set([verdict, ...conditions].map((one) => one.sentence));
  return [
    sentence,
    ...warnings.filter((one) => !told.has(one)),
    ...refusal.split('\n').filter((line) => line !== ''),
  ];
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
export function statusText(
  { verdict, conditions }: Status,
  columns: number | undefined,
  next: readonly string[] = [],
): string {
  const others = beyondVerdict(verdict, conditions).filter(
    ({ level }) => level === 'bad' || level === 'note',
  );
  const lines = [
    verdict.sentence,
    ...backLines(verdict.action),
    ...others.map(({ level, sentence }) => `${level.padEnd(LABEL)}${sentence}`),
    // While requests fail, no step comes before their mend.
    ...(verdict.level === 'bad'
      ? []
      : next.map((line, at) => `${(at === 0 ? 'next' : 'careful').padEnd(LABEL)}${line}`)),
  ];
  const text = lines.join('\n');
  // A pipe may lead to a file that is read on another day, or elsewhere.
  const dated = columns === undefined ? text : withShortTimes(text);
  return `${wrapLines(terminalLines(dated), columns, LABEL)}\n`;
}

/** The mode of most V1 traffic, the step of a migration that comes after it, and its command that moves clients; undefined once V1 has a date to end. */
export function nextStep({
  default: { mode, share },
  sunset,
  v1Origin,
}: RolloutView): readonly [sentence: string, command?: RolloutRequest] | undefined {
  if (sunset !== undefined || v1Origin === undefined) return undefined;
  switch (mode) {
    case 'observe':
      return ['V1 serves the requests (observe): to compare the reads of both services, run rollout shadow.'];
    case 'shadow':
      return [
        'V1 serves the requests (shadow): rollout lists the differences; to move some clients, run rollout canary 5.',
        { mode: 'canary', share: 5 },
      ];
    case 'canary':
      return [
        `V2 serves ${share ?? 0} % of the clients (canary): to move more, run rollout canary with a larger share; to move all, rollout migrate.`,
        { mode: 'migrate' },
      ];
    case 'verify':
    case 'migrate':
      return [
        `V2 serves the requests (${mode}): to see who still uses V1, run report; to plan its end, run plan.`,
      ];
  }
}
