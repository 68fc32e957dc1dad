import fc from 'fast-check';
import type { PlayedExchange, TwinTally } from '../../twin/play.ts';
import { printScript, sequenceScript, type Step } from '../../twin/script.ts';
import { arbitrarySteps } from './twin-arbitrary.ts';
import type { TwinStage } from './twin-stage.ts';

/** How many random sequences are played, from which seed, and where their exchanges are counted. */
export interface RandomOptions {
  readonly count: number;
  readonly seed: number;
  readonly tally: TwinTally;
}

/**
 * Plays random sequences until one is different, which is made as short as possible; returns it as a script to play again, or
 * nothing when all are alike.
 */
export async function randomSequences(
  stage: TwinStage,
  { count, seed, tally }: RandomOptions,
): Promise<string | undefined> {
  process.stderr.write(`Playing ${count} random sequences; --seed ${seed} plays the same ones.\n`);
  const details = await fc.check(
    fc.asyncProperty(arbitrarySteps(), async (steps) => {
      let isAlike = true;
      for await (const played of stage.play(sequenceScript('sequence', steps))) {
        const isDifferent = isUnexplained(played);
        isAlike &&= !isDifferent;
        if (!isDifferent) tally.add(played);
      }
      return isAlike;
    }),
    { numRuns: count, seed },
  );
  if (!details.failed || details.counterexample === null) return undefined;
  const [steps] = details.counterexample;
  return explain(stage, await withoutIdleSteps(stage, steps), tally);
}

/** Leaves out every step without which the sequence is different all the same. */
async function withoutIdleSteps(stage: TwinStage, steps: readonly Step[]): Promise<readonly Step[]> {
  for (const idle of steps) {
    const others = steps.filter((step) => step !== idle);
    if (await isDifferent(stage, others)) return withoutIdleSteps(stage, others);
  }
  return steps;
}

async function isDifferent(stage: TwinStage, steps: readonly Step[]): Promise<boolean> {
  for await (const played of stage.play(sequenceScript('sequence', steps))) {
    if (isUnexplained(played)) return true;
  }
  return false;
}

function isUnexplained({ differences, choice }: PlayedExchange): boolean {
  return differences.length > 0 && choice === undefined;
}

async function explain(stage: TwinStage, steps: readonly Step[], tally: TwinTally): Promise<string> {
  const script = sequenceScript('sequence', steps);
  for await (const played of stage.play(script)) {
    if (isUnexplained(played)) tally.add(played);
  }
  return `The shortest sequence that is different; keep it in a file, and play it again with --script.\n\n${printScript(script)}`;
}
