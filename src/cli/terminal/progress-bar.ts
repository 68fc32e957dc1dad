/** The output for a progress bar: a terminal's stderr. */
export interface BarOutput {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

/** Shows the progress of a long task, on a terminal only; prints nothing elsewhere. */
export class ProgressBar {
  private readonly output: BarOutput;
  private readonly total: number;
  private readonly now: () => number;
  private readonly began: number;
  private drawn = Number.NEGATIVE_INFINITY;

  /** `total` is in bytes; 0 when unknown. `now` is a clock in milliseconds. */
  constructor(output: BarOutput, total: number, now: () => number) {
    this.output = output;
    this.total = total;
    this.now = now;
    this.began = now();
  }

  /** Draws the bar at `done` bytes, at most ten times a second. */
  show(done: number): void {
    const now = this.now();
    if (this.output.isTTY !== true || now - this.drawn < 100) return;
    this.drawn = now;
    const seconds = Math.max(0.001, (now - this.began) / 1000);
    const speed = `${(done / 1e6 / seconds).toFixed(0)} MB/s`;
    const share = this.total === 0 ? undefined : Math.min(1, done / this.total);
    if (share === undefined) {
      this.output.write(`\r\u001B[K${(done / 1e6).toFixed(0)} MB  ${speed}`);
      return;
    }
    const width = Math.max(10, Math.min(40, (this.output.columns ?? 80) - 40));
    const full = Math.round(share * width);
    const left = share === 0 ? '' : `  ${Math.ceil((seconds / share) * (1 - share))} s left`;
    const bar = `${'█'.repeat(full)}${'░'.repeat(width - full)}`;
    this.output.write(`\r\u001B[K${bar} ${String(Math.round(share * 100)).padStart(3)} %  ${speed}${left}`);
  }

  /** Clears the bar. */
  clear(): void {
    if (this.output.isTTY === true) this.output.write('\r\u001B[K');
  }
}
