#!/usr/bin/env node
// Plain JavaScript: an old Node must be able to parse this file and to load the next one, which reports that it is too old.
import './node-version.js';

const { existsSync } = process.getBuiltinModule('node:fs');
const source = new URL('main.ts', import.meta.url);
const isCheckout = existsSync(source);
// Compiling, and in a checkout taking the types off, is most of a start, so the result is kept for the next one, with what the last run had
// to compile for its first requests. A folder that this user may not write to keeps nothing, and nothing else changes.
const cache = new URL(
  isCheckout ? '../../node_modules/.cache/compile' : '../.compile-cache',
  import.meta.url,
);
const { fileURLToPath } = process.getBuiltinModule('node:url');
process.getBuiltinModule('node:module').enableCompileCache(fileURLToPath(cache));
// The published package has the build output beside this file.
void import(isCheckout ? source.href : new URL('main.js', import.meta.url).href);
