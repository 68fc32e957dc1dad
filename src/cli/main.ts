#!/usr/bin/env node
// Nothing else is imported before the version is known: an old Node would stop at syntax that it cannot read.
const [major = 0] = process.versions.node.split('.').map(Number);
if (major < 24) {
  process.stderr.write(
    `capture-gateway needs Node 24 or later, and this is ${process.versions.node}: run it by npm (npm start), which brings its own.\n`,
  );
  process.exit(2);
}
const { run } = await import('./program.ts');
await run(process.argv);
