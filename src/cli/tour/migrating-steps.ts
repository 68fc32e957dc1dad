import { readFileSync, writeFileSync } from 'node:fs';
import { count, counted } from '../../report/text/number-text.ts';
import { addToRuleBook, reloadRules } from './tour-rules.ts';
import { FLEET, type FleetResponse } from './tour-fleet.ts';
import type { Stage } from './tour-stage.ts';
import { listed, migratedSince, settle, type TourStep } from './tour-step.ts';

/** Percent of the clients in the canary. */
const SHARE = 30;

/** Rounds of the fleet after which a canary that fails would have been rolled back. */
const MAX_ROUNDS = 40;

/** The steps in which requests go to V2. */
export const MIGRATING_STEPS: readonly TourStep[] = [
  { title: 'Canary', page: './?view=rollout', play: canary },
  { title: 'A fault, and the roll-back', page: './?view=errors', play: fault },
  { title: 'Migrate', page: './?view=hour', play: migrate },
  { title: 'Sunset', page: './?view=retirement', play: sunset },
];

async function canary(stage: Stage): Promise<readonly string[]> {
  const { admin, fleet } = stage;
  await admin.choose({ mode: 'canary', share: SHARE });
  const before = await admin.latest();
  await fleet.send(3);
  await settle(stage);
  const { canaries } = await admin.rollout();
  const [window] = canaries;
  const clients = await migratedSince(stage, before);
  return [
    `A canary of ${SHARE} % migrates ${count(clients.length)} of ${count(FLEET.length)} clients: ${listed(clients)}. The others stay on V1.`,
    ...(window === undefined
      ? []
      : [
          `Of their ${counted(window.migrated.requests, 'request')} to V2, ${count(window.migrated.failures)} failed; of ${count(window.v1.requests)} to V1, ${count(window.v1.failures)} failed.`,
        ]),
  ];
}

async function fault(stage: Stage): Promise<readonly string[]> {
  const { admin, fleet, v2 } = stage;
  await v2.restart(['--failing', FLEET.map(({ key }) => key).join(',')]);
  const before = await admin.latest();
  for (let round = 0; round < MAX_ROUNDS && (await admin.rollout()).rollbacks.length === 0; round += 1) {
    await fleet.send(1);
    await settle(stage);
  }
  const { rollbacks, default: mode } = await admin.rollout();
  const [rollback] = rollbacks;
  if (rollback === undefined) throw new Error('The canary was not rolled back.');
  const failed = await migratedSince(stage, before, 'status:5xx');
  const after = await fleet.send(1);
  await settle(stage);
  const well = after.filter(({ status }) => status < 400).length;
  return [
    `V2 was restarted with a store that fails, and ${listed(failed)} got its errors.`,
    `At ${rollback.at} the gateway rolled the canary of ${rollback.share} % back by itself: ${count(rollback.migrated.failures)} of ${count(rollback.migrated.requests)} migrated requests had failed, and ${count(rollback.v1.failures)} of ${count(rollback.v1.requests)} on V1.`,
    `The mode is ${mode.mode} until somebody chooses another one. Of the next ${counted(after.length, 'request')} V1 responded well to ${well === after.length ? 'all' : count(well)}.`,
  ];
}

async function migrate(stage: Stage): Promise<readonly string[]> {
  const { admin, fleet, v2 } = stage;
  const first = await migratedSince(stage, 0);
  await v2.restart();
  await admin.choose({ mode: 'canary', share: 60 });
  let before = await admin.latest();
  await fleet.send(2);
  await settle(stage);
  const most = await migratedSince(stage, before);
  await admin.choose({ mode: 'migrate' });
  const start = await admin.sentTo();
  before = await admin.latest();
  const responses = await fleet.send(2);
  await settle(stage);
  const end = await admin.sentTo();
  const failed = responses.filter(({ status }) => status >= 400).length;
  const clients = await migratedSince(stage, before);
  return [
    `V2 was restarted with a store that works. A canary of 60 % migrates ${count(most.length)} clients, ${first.every((name) => most.includes(name)) ? 'all' : 'not all'} of the smaller one among them.`,
    `In mode migrate ${count(end.v2 - start.v2)} requests of ${count(clients.length)} clients went to V2, ${count(end.v1 - start.v1)} to V1, and ${count(failed)} failed. No client has changed a line.`,
  ];
}

async function sunset(stage: Stage): Promise<readonly string[]> {
  const { admin, fleet, names } = stage;
  const [kept] = FLEET;
  const hash = [...names].find(([, name]) => name === kept?.name)?.[0] ?? '';
  const day = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
  addToRuleBook(
    stage.rulesPath,
    `deprecation: ${day(-30)}\nsunset: { at: ${day(30)}, after: gone, except: [${hash}] }`,
  );
  await reloadRules(stage.serving);
  const [announced] = await fleet.readInTurn();
  await settle(stage);
  await endV1(stage, day(30), day(-1));
  const refused = await fleet.send(1);
  await settle(stage);
  const gone = refused.filter(({ status }) => status === 410);
  const served = refused.filter(({ status }) => status < 400);
  const { switchOff, clients } = await admin.report();
  return [
    `Thirty days before the end, V1 responses say so: Deprecation: ${headerOf(announced, 'deprecation')}, Sunset: ${headerOf(announced, 'sunset')}.`,
    `After the sunset, ${counted(gone.length, 'request')} of ${count(clientsOf(gone).length)} clients got 410. ${listed(clientsOf(served))}, which the rule book excepts, had ${counted(served.length, 'response')} as before.`,
    `The report counts ${count(clients.length)} clients that have used V1: ${switchOff.sentence}`,
  ];
}

/** Moves the sunset into the past, as if the day had come. */
async function endV1(stage: Stage, from: string, to: string): Promise<void> {
  writeFileSync(stage.rulesPath, readFileSync(stage.rulesPath, 'utf8').replace(`at: ${from}`, `at: ${to}`));
  await reloadRules(stage.serving);
}

function clientsOf(responses: readonly FleetResponse[]): readonly string[] {
  return [...new Set(responses.map(({ client }) => client.name))];
}

function headerOf(response: FleetResponse | undefined, name: string): string {
  return response?.headers.get(name) ?? 'absent';
}
