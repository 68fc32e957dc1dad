import { count, counted } from '../../report/text/number-text.ts';
import { applyStrips } from '../report/apply-strips.ts';
import { declareOperation, reloadRules, UNDECLARED_OPERATION } from './tour-rules.ts';
import type { Stage } from './tour-stage.ts';
import { classSentence, listed, settle, type TourStep } from './tour-step.ts';
import { FLEET } from './tour-fleet.ts';

/** The steps in which V1 responds to every request. */
export const OBSERVING_STEPS: readonly TourStep[] = [
  { title: 'Observe', page: './', play: observe },
  { title: 'Census', page: './?view=retirement', play: takeCensus },
  { title: 'Strip', page: './?view=rules', play: strip },
  { title: 'Shadow', page: './?view=rollout', play: shadow },
];

/** Attempts to see something that a busy machine may leave out. */
const MAX_TRIES = 4;

async function observe(stage: Stage): Promise<readonly string[]> {
  const { admin, fleet } = stage;
  await admin.choose({ mode: 'observe' });
  // On a busy machine the gateway observes fewer bodies, and the census needs several.
  for (let tries = 0; tries < MAX_TRIES && (await admin.report()).census.strips.length === 0; tries += 1) {
    await fleet.send(4);
    await settle(stage);
  }
  const requests = await admin.sentTo();
  const would = await Promise.all(
    ['rewritten', 'unchanged', 'refused'].map(
      async (verdict) => (await admin.entriesAfter(0, `would:${verdict}`)).length,
    ),
  );
  const [rewritten = 0, unchanged = 0, refused = 0] = would;
  return [
    `${count(FLEET.length)} clients, written for V1, sent ${counted(requests.v1 + requests.v2, 'request')} to the gateway in mode observe.`,
    `V1 responded to ${requests.v1 === fleet.sent ? 'all of them' : count(requests.v1)}, and V2 got ${requests.v2 === 0 ? 'none' : count(requests.v2)}.`,
    `A migration would have rewritten ${count(rewritten)}, left the body of ${count(unchanged)} as it is, and refused ${count(refused)}.`,
  ];
}

async function takeCensus(stage: Stage): Promise<readonly string[]> {
  const { admin, names } = stage;
  const report = await admin.report();
  const { valid, invalid } = await bodyChecks(stage);
  const refusal = await admin.refusalOf({ mode: 'canary', share: 30 });
  return [
    ...report.census.strips.map(
      ({ member, operation = 'requests', clients, why }) =>
        `The census: ${listed(clients.map((hash) => names.get(hash) ?? hash))} send ${member} in ${operation} (${why}), and no rule handles it. It proposes a strip rule.`,
    ),
    `Of ${count(invalid + valid)} bodies that were checked, V2's schema would refuse ${count(invalid)}.`,
    refusal === undefined ? 'A canary would be accepted.' : `A canary is refused now: ${refusal}`,
    classSentence(report),
  ];
}

async function strip(stage: Stage): Promise<readonly string[]> {
  const { admin, rulesPath, fleet } = stage;
  const outcome = await applyStrips(rulesPath, (await admin.report()).census.strips);
  if ('faults' in outcome) throw new Error(outcome.faults.join('\n'));
  const hash = await reloadRules(stage.serving);
  const before = await admin.latest();
  const responses = await fleet.send(2);
  await settle(stage);
  const stripped = (await admin.entriesAfter(before)).filter(({ edits }) =>
    edits.some(({ rule }) => rule === 'strip'),
  );
  const checks = await bodyChecks(stage);
  return [
    `The proposal is in the rule book of the tour, which strips ${outcome.written.join(', ')} now. The gateway took it without a restart, as rule book ${hash}.`,
    `In the next ${counted(responses.length, 'request')} a migration would have stripped ${count(stripped.length)} bodies. Of the bodies that were checked, V2's schema accepts ${count(checks.valid)} and refuses ${count(checks.invalid)}.`,
  ];
}

/** Bodies that V2's schema accepted and refused under the rule book in force. */
async function bodyChecks({ admin }: Stage): Promise<{ readonly valid: number; readonly invalid: number }> {
  const counts = (await admin.rollout()).bodyChecks?.counts ?? [];
  const sum = (kind: 'valid' | 'invalid'): number => counts.reduce((all, each) => all + each[kind], 0);
  return { valid: sum('valid'), invalid: sum('invalid') };
}

async function shadow(stage: Stage): Promise<readonly string[]> {
  const { admin } = stage;
  await admin.choose({ mode: 'shadow' });
  const start = await admin.latest();
  let first = await compareReads(stage);
  for (let tries = 1; tries < MAX_TRIES && total(first).different === 0; tries += 1)
    first = await compareReads(stage);
  const before = total(first);
  const missing = first
    .flatMap(({ fields }) => fields)
    .filter(({ kind }) => kind === 'missing')
    .map(({ path }) => path);
  declareOperation(stage.rulesPath);
  const hash = await reloadRules(stage.serving);
  const after = total(await compareReads(stage));
  return [
    `Each read went to both services, and the client got V1's response. Of ${counted(before.compared, 'read')}, ${count(before.different)} would have been different.`,
    ...(missing.length === 0
      ? []
      : [
          `V1 clients would have missed ${listed(missing)}, in a list that the rule book of the tour did not name.`,
        ]),
    `With ${UNDECLARED_OPERATION} declared (rule book ${hash}), ${count(after.compared - before.compared)} more were compared, and ${count(after.different - before.different)} were different.`,
    ...(await notCompared(stage, start)),
    classSentence(await admin.report()),
  ];
}

/** Says how many reads were not compared, and why, as a busy machine leaves some out. */
async function notCompared({ admin }: Stage, start: number): Promise<readonly string[]> {
  const reasons = (await admin.entriesAfter(start)).flatMap(({ comparison }) =>
    comparison?.verdict === 'unknown' ? [comparison.why ?? 'unknown'] : [],
  );
  if (reasons.length === 0) return [];
  const others = [...new Set(reasons)].filter((reason) => reason !== 'budget');
  const words = [
    ...(reasons.includes('budget') ? ['comparing has little time, so that no client waits for it'] : []),
    ...others,
  ];
  return [`${counted(reasons.length, 'read')} could not be compared: ${words.join('; ')}.`];
}

type Shadows = Awaited<ReturnType<Stage['admin']['rollout']>>['shadows'];

interface Compared {
  readonly compared: number;
  readonly different: number;
  readonly unknown: number;
}

function total(shadows: Shadows): Compared {
  const sum = (kind: 'same' | 'different' | 'unknown'): number =>
    shadows.reduce((all, each) => all + each[kind], 0);
  return { compared: sum('same') + sum('different'), different: sum('different'), unknown: sum('unknown') };
}

/** Lets every client read once. Comparisons give way to clients, so the next one waits until its response was compared. */
async function compareReads({ admin, fleet }: Stage): Promise<Shadows> {
  const done = ({ shadows }: { readonly shadows: Shadows }): number => {
    const { compared, unknown } = total(shadows);
    return compared + unknown;
  };
  let before = done(await admin.rollout());
  await fleet.readInTurn(async () => {
    before += 1;
    await admin.until(
      () => admin.rollout(),
      (view) => done(view) >= before,
    );
  });
  return (await admin.rollout()).shadows;
}
