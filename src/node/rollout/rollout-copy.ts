import { readFileSync } from 'node:fs';
import { parsedJson } from '../../rewrite-log/parsed-json.ts';
import type { RolloutState } from '../../rollout/rollout-state.ts';
import { readRollout, rolloutText } from '../../rollout/stored-rollout.ts';
import { replaceFile } from '../replace-file.ts';

/** The last known state of a rollout in a file, for a start at which the store is damaged or out of reach. */
export class RolloutCopy {
  private readonly path: string;
  private readonly onFault: (sentence: string) => void;
  private work: Promise<void> = Promise.resolve();
  private latest: RolloutState | undefined;

  constructor(path: string, onFault: (sentence: string) => void) {
    this.path = path;
    this.onFault = onFault;
  }

  /** Returns the state; undefined when there is no file, or a damaged one. */
  read(): RolloutState | undefined {
    try {
      return readRollout(parsedJson(readFileSync(this.path, 'utf8')));
    } catch {
      return undefined;
    }
  }

  /** Replaces the file; of states in quick succession only the last is written. */
  write(state: RolloutState): void {
    const isWriting = this.latest !== undefined;
    this.latest = state;
    if (!isWriting) this.work = this.work.then(() => this.writeLatest());
  }

  /** Waits for the file. */
  close(): Promise<void> {
    return this.work;
  }

  private async writeLatest(): Promise<void> {
    const state = this.latest;
    this.latest = undefined;
    if (state === undefined) return;
    try {
      await replaceFile(this.path, rolloutText(state));
    } catch (error) {
      const reason = error instanceof Error && 'code' in error ? String(error.code) : String(error);
      this.onFault(`The last known state cannot be kept in ${this.path} (${reason}).`);
    }
  }
}
