/** Generates a log of so many megabytes (default 1,000), reports on it, and prints the speed and the peak memory. */
import { spawn } from 'node:child_process';
import { createWriteStream, mkdtempSync, rmSync, statSync } from 'node:fs';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { entryLine } from '../src/rewrite-log/entry-line.ts';
import { sampleEntry } from '../test/support/sample-entries.ts';

const megabytes = Number(process.argv[2] ?? 1000);
const folder = mkdtempSync(join(tmpdir(), 'report-'));
try {
  const file = join(folder, 'log.ndjson');
  const lines = await generate(file, megabytes * 1e6);
  const { seconds, cpuSeconds, peak, output } = await measure(file);
  const bytes = statSync(file).size;
  process.stdout.write(
    `${output.split('\n', 1)[0] ?? ''}\n${(bytes / 1e6).toFixed(0)} MB, ${lines} lines: ${seconds.toFixed(2)} s, ` +
      `${(bytes / 1e6 / seconds).toFixed(0)} MB/s (${(bytes / 1e6 / cpuSeconds).toFixed(0)} MB per CPU second), ` +
      `peak memory ${(peak / 1024).toFixed(0)} MiB\n`,
  );
} finally {
  rmSync(folder, { recursive: true });
}

async function generate(file: string, bytes: number): Promise<number> {
  const out = createWriteStream(file);
  const start = Date.UTC(2026, 9, 1);
  let written = 0;
  let n = 0;
  while (written < bytes) {
    let block = '';
    for (let k = 0; k < 2000; k += 1) {
      block += entryLine(sampleEntry(n, start + n * 2500));
      n += 1;
    }
    written += block.length;
    if (!out.write(block)) await once(out, 'drain');
  }
  out.end();
  await once(out, 'close');
  return n;
}

interface Measured {
  readonly seconds: number;
  readonly cpuSeconds: number;
  /** KiB. */
  readonly peak: number;
  readonly output: string;
}

/** The command in a process of its own, which reports its time and memory as it ends. */
async function measure(file: string): Promise<Measured> {
  const main = new URL('../src/cli/main.ts', import.meta.url).pathname;
  const tell =
    "process.on('exit',()=>{const u=process.resourceUsage();require('node:fs').writeSync(2,JSON.stringify([(u.userCPUTime+u.systemCPUTime)/1e6,u.maxRSS]))})";
  const preload = `data:text/javascript,${encodeURIComponent(`import{createRequire}from'node:module';const require=createRequire('file:///');${tell}`)}`;
  const began = performance.now();
  const child = spawn(process.execPath, ['--import', preload, main, 'report', file], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  let figures = '';
  child.stdout.on('data', (chunk) => (output += String(chunk)));
  child.stderr.on('data', (chunk) => (figures += String(chunk)));
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`report ended with ${String(code)}: ${figures}`);
  const [cpuSeconds = 0, peak = 0] = JSON.parse(figures) as number[];
  return { seconds: (performance.now() - began) / 1000, cpuSeconds, peak, output };
}
