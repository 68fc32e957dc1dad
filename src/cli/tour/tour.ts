import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { stdin, stdout } from 'node:process';
import { FAILURE, NOT_STARTED } from '../exit-codes.ts';
import { painter, terminalOf } from '../terminal/terminal.ts';
import { wrapLines } from '../terminal/wrap-text.ts';
import { MIGRATING_STEPS } from './migrating-steps.ts';
import { OBSERVING_STEPS } from './observing-steps.ts';
import { openStage, type Stage, type StageOptions } from './tour-stage.ts';
import type { TourStep } from './tour-step.ts';

/** Every step of the tour, in its order. */
export const TOUR: readonly TourStep[] = [...OBSERVING_STEPS, ...MIGRATING_STEPS];

/** Signals that end the tour, with the exit codes that shells give them. */
const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

/**
 * Plays a whole migration and prints each step. On a terminal it waits for Enter after each; in a pipe it goes on. Its files are gone
 * when it ends, whether by itself or by a signal. Sets the exit code.
 */
export async function playTour(options: StageOptions): Promise<void> {
  for (const [signal, code] of Object.entries(SIGNALS)) process.on(signal, () => process.exit(code));
  const stage = await openStage(options);
  if ('faults' in stage) {
    process.stderr.write(stage.faults.map((fault) => `${fault}\n`).join(''));
    process.exitCode = NOT_STARTED;
    return;
  }
  try {
    print(introduction(stage));
    for (const [at, step] of TOUR.entries()) await playStep(stage, step, at + 1);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    process.stderr.write(`The demo ends here: ${error.message}\n`);
    process.exitCode = FAILURE;
  } finally {
    await stage.close();
    stdin.destroy();
  }
  if (!existsSync(stage.folder)) print(`The services are stopped, and ${stage.folder} is removed.\n`);
}

function introduction({ v1, v2, serving, folder }: Stage): string {
  const { origin, adminOrigin } = serving.running;
  return `A migration from V1 to V2, in ${TOUR.length} steps.

V1 is ${v1.origin}, and V2 is ${v2.origin}, on the same data. The gateway is ${origin}, and its page ${adminOrigin}. Every file is in ${folder}. The rule book there is a copy of the one that ships, without one operation, as a first one may be.

`;
}

async function playStep(stage: Stage, { title, page, play }: TourStep, number: number): Promise<void> {
  const { adminOrigin } = stage.serving.running;
  const paint = painter(terminalOf(stdout));
  print(`${paint('bold', `${number}/${TOUR.length}  ${title}`)}\n`);
  const sentences = await play(stage);
  const address = new URL(page, adminOrigin).href;
  print(
    [...sentences.map((sentence) => `  ${sentence}\n`), `  Look at ${paint('cyan', address)}\n\n`].join(''),
  );
  await pause(number === TOUR.length ? 'Enter ends the demo.' : 'Enter goes on, and Ctrl-C ends the demo.');
}

/** Waits for Enter on a terminal; the end of the input counts as one. */
async function pause(words: string): Promise<void> {
  if (!stdin.isTTY || !stdout.isTTY || stdin.readableEnded) return;
  print(painter(terminalOf(stdout))('dim', words));
  stdin.resume();
  await Promise.race([once(stdin, 'data'), once(stdin, 'end')]);
  stdin.pause();
  print('\n');
}

function print(text: string): void {
  stdout.write(wrapLines(text, terminalOf(stdout).columns, 0));
}
