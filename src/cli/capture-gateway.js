#!/usr/bin/env node
// Plain JavaScript without imports: an old Node must be able to parse this file to report that it is too old.
const [major = 0] = process.versions.node.split('.').map(Number);
if (major < 24) {
  process.stderr.write(
    `capture-gateway needs Node 24 or later, and this is Node ${process.versions.node}. In a checkout, "npm run -s gateway -- <command>" uses the Node that npm ci installed.\n`,
  );
  process.exit(2);
}

// A checkout runs the sources; the published package has the build output beside this file.
const { existsSync } = await import('node:fs');
const source = new URL('main.ts', import.meta.url);
await import(existsSync(source) ? source.href : new URL('main.js', import.meta.url).href);
