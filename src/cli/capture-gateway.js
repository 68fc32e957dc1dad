#!/usr/bin/env node
// Plain JavaScript: an old Node must be able to parse this file and the next one, which reports that it is too old.
import './node-version.js';

const { existsSync } = process.getBuiltinModule('node:fs');
const source = new URL('main.ts', import.meta.url);
const isCheckout = existsSync(source);
// Compiling, and in a checkout stripping types, is most of a start, so Node keeps the result for the next one, including code compiled for
// the first requests. If this user may not write to the folder, starts are slower and nothing else changes.
const cache = new URL(
  isCheckout ? '../../node_modules/.cache/compile' : '../.compile-cache',
  import.meta.url,
);
const { fileURLToPath } = process.getBuiltinModule('node:url');
process.getBuiltinModule('node:module').enableCompileCache(fileURLToPath(cache));
// The published package has the compiled files beside this one.
void import(isCheckout ? source.href : new URL('main.js', import.meta.url).href);
