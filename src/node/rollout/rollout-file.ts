import { readFileSync, statSync, unlinkSync } from 'node:fs';
import { open, rename } from 'node:fs/promises';
import * as z from 'zod';
import { lockFile } from './file-lock.ts';
import type { WriteProcessLine } from '../log/process-log.ts';
import type { RolloutControl } from '../../rollout/rollout-control.ts';
import { initialRollout, type RolloutState } from '../../rollout/rollout-state.ts';
import { parsedJson } from '../../rewrite-log/parsed-json.ts';

const mode = z.union([
  z.strictObject({ mode: z.enum(['migrate', 'observe', 'shadow']) }),
  z.strictObject({ mode: z.literal('canary'), share: z.number().gt(0).max(100) }),
]);
const count = z.strictObject({ requests: z.int().nonnegative(), failures: z.int().nonnegative() });
const rollback = z.strictObject({
  at: z.iso.datetime(),
  operation: z.exactOptional(z.string()),
  share: z.number(),
  migrated: count,
  v1: count,
  resolved: z.exactOptional(z.iso.datetime()),
});
const storedState = z.strictObject({
  /** Version of the file's layout. */
  format: z.literal(1),
  revision: z.int().positive(),
  changed: z.iso.datetime(),
  default: z.exactOptional(mode),
  operations: z.record(z.string(), mode),
  clients: z.record(z.string().regex(/^[0-9a-f]{16}$/), mode),
  rollbacks: z.array(rollback).max(100),
});

/** Content of a file: a state, nothing yet, or the reason why it cannot be used. */
type Reading = { readonly state: RolloutState | undefined } | { readonly fault: string };

/** Milliseconds between two checks for changes by another replica. */
const POLL_MS = 500;

/**
 * Keeps the state of a rollout in a file that replicas may share. A change reads the file, and replaces it whole; a damaged file
 * is refused, and the last good state holds: the one in memory, or at the start the copy beside the file.
 */
export class RolloutFile {
  private readonly path: string;
  private readonly log: WriteProcessLine;
  private control: RolloutControl | undefined;
  private work: Promise<void> = Promise.resolve();
  /** Content of the file when it was last good. */
  private lastGood: RolloutState = initialRollout;
  /** Changes that are in memory and not yet in the file. */
  private readonly pending: ((state: RolloutState) => RolloutState)[] = [];
  private timer: NodeJS.Timeout | undefined;
  private sign = '';
  private number = 0;

  constructor(path: string, log: WriteProcessLine) {
    this.path = path;
    this.log = log;
  }

  /** Gives `control` the saved state, and starts to follow the file; returns a fault when neither file nor copy is good. */
  open(control: RolloutControl): { readonly fault: string } | undefined {
    this.control = control;
    let reading = read(this.path);
    if ('fault' in reading) {
      const copy = read(this.copy);
      if ('fault' in copy || copy.state === undefined) return reading;
      this.logFault(`rollout: ${reading.fault} The last good state is used.`);
      reading = copy;
    } else {
      this.sign = signOf(this.path);
    }
    if (reading.state !== undefined) this.adopt(control, reading.state);
    this.timer = setInterval(() => this.follow(), POLL_MS);
    this.timer.unref();
    return undefined;
  }

  /** Applies a change to the file, after those before it. */
  keep(change: (state: RolloutState) => RolloutState): void {
    this.pending.push(change);
    this.work = this.work
      .then(() => this.replace())
      .catch((error: unknown) => {
        const code = reasonOf(error);
        this.logFault(
          `rollout: the state cannot be kept in ${this.path} (${code}); it holds here, and is kept with the next change.`,
        );
      });
  }

  /** Waits for changes in progress, and stops following the file. */
  async close(): Promise<void> {
    clearInterval(this.timer);
    await this.work;
  }

  private get copy(): string {
    return `${this.path}.last-good`;
  }

  private async replace(): Promise<void> {
    const control = this.control;
    if (control === undefined || this.pending.length === 0) return;
    const release = await lockFile(`${this.path}.lock`);
    try {
      const reading = read(this.path);
      // A file that was damaged or removed in the meantime is written again from its last good state.
      const before = ('fault' in reading ? undefined : reading.state) ?? this.lastGood;
      const count = this.pending.length;
      const next = this.pending.reduce((state, change) => change(state), before);
      if (next !== before) {
        const text = `${JSON.stringify({ format: 1, ...next }, undefined, 2)}\n`;
        await this.write(this.path, text);
        await this.write(this.copy, text);
        this.sign = signOf(this.path);
      }
      this.pending.splice(0, count);
      this.adopt(control, next);
    } finally {
      release();
    }
  }

  /** Changes made since are applied to the new state too, so that no change is ever undone for a moment. */
  private adopt(control: RolloutControl, state: RolloutState): void {
    this.lastGood = state;
    control.adopt(this.pending.reduce((so, change) => change(so), state));
  }

  /** A reader sees the old file or the new one, and after a crash one of them exists. */
  private async write(path: string, text: string): Promise<void> {
    this.number += 1;
    const made = `${path}.${process.pid}.${this.number}.tmp`;
    const file = await open(made, 'w', 0o600);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(made, path).catch((error: unknown) => {
      unlinkSync(made);
      throw error;
    });
  }

  private follow(): void {
    const sign = signOf(this.path);
    if (sign === this.sign || this.control === undefined) return;
    this.sign = sign;
    const reading = read(this.path);
    if ('fault' in reading) {
      this.logFault(`rollout: ${reading.fault} The state of revision ${this.control.state.revision} stays.`);
      return;
    }
    if (reading.state === undefined || reading.state.revision === this.lastGood.revision) return;
    this.adopt(this.control, reading.state);
    this.log({
      level: 'info',
      event: 'rollout-changed',
      message: `rollout: revision ${reading.state.revision} is in force, from ${this.path}.`,
    });
  }

  private logFault(message: string): void {
    this.log({ level: 'error', event: 'rollout-file', message });
  }
}

function read(path: string): Reading {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    return code === 'ENOENT' ? { state: undefined } : { fault: `${path} cannot be read (${code}).` };
  }
  const outcome = storedState.safeParse(parsedJson(text));
  if (!outcome.success) return { fault: `${path} is damaged; remove it to begin anew.` };
  const { format: _, ...state } = outcome.data;
  return { state };
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return 'code' in error ? String(error.code) : error.message;
}

/** Attributes that change when the file is replaced. */
function signOf(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false });
  return found === undefined ? '' : `${found.ino} ${found.mtimeMs} ${found.size}`;
}
