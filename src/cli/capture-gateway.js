#!/usr/bin/env node
// Plain JavaScript: an old Node must be able to parse this file and to load the next one, which reports that it is too old.
import './node-version.js';

const { existsSync } = process.getBuiltinModule('node:fs');
const source = new URL('main.ts', import.meta.url);
const isCheckout = existsSync(source);
if (isCheckout) {
  // A checkout runs the sources. Taking the types off and compiling them takes most of a start, so the result is kept.
  const cache = new URL('../../node_modules/.cache/compile', import.meta.url);
  const { fileURLToPath } = process.getBuiltinModule('node:url');
  process.getBuiltinModule('node:module').enableCompileCache(fileURLToPath(cache));
}
// The published package has the build output beside this file.
void import(isCheckout ? source.href : new URL('main.js', import.meta.url).href);
