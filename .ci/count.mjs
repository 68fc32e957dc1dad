// Reads a folder of runs: `NAME.status` is the exit code of the run NAME, `NAME.json` its results (vitest's JSON), if it left any, and
// `again.json` those of the files that were run a second time. `files FOLDER` prints the files that failed, one a line; `count FOLDER`
// names what failed, and ends with "N passed, N failed", where files of the second run count as they ended there. A run without
// results is a failure, and so is one that failed although no file of it did. Status 1 if anything failed.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const [, , command, folder] = process.argv;
const resultsOf = (name) => {
  const path = join(folder, `${name}.json`);
  // A run that was killed may have left half of a file.
  try {
    return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')).testResults : undefined;
  } catch {
    return undefined;
  }
};
const runs = readdirSync(folder)
  .filter((name) => name.endsWith('.status'))
  .map((file) => file.slice(0, -'.status'.length))
  .map((name) => ({
    name,
    status: readFileSync(join(folder, `${name}.status`), 'utf8').trim(),
    files: resultsOf(name),
  }));
const again = new Map((resultsOf('again') ?? []).map((file) => [file.name, file]));
const faultsOf = ({ assertionResults }) => assertionResults.filter((test) => test.status !== 'passed');
const isFailed = (file) => file.status !== 'passed' || faultsOf(file).length > 0;
// A file that fails without a failed test could not be loaded, or failed around its tests.
const namesOf = (file) => {
  const names = faultsOf(file).map(({ fullName }) => fullName);
  return names.length === 0 && isFailed(file) ? [file.message || 'around its tests'] : names;
};

if (command === 'files') {
  for (const { files = [] } of runs) for (const file of files.filter(isFailed)) console.log(file.name);
} else {
  let passed = 0;
  let failed = 0;
  const fail = (sentence) => {
    failed += 1;
    console.log(`failed: ${sentence}`);
  };
  for (const { name, status, files } of runs) {
    if (files === undefined) {
      fail(`${name} ended with ${status}, and left no results`);
      continue;
    }
    if (status !== '0' && !files.some(isFailed)) fail(`${name}: an error outside of all files; it is above`);
    for (const file of files.filter((one) => again.has(one.name)))
      for (const test of namesOf(file)) console.log(`failed at first: ${file.name}: ${test}`);
    for (const file of files.map((one) => again.get(one.name) ?? one)) {
      passed += file.assertionResults.length - faultsOf(file).length;
      for (const test of namesOf(file)) fail(`${file.name}: ${test}`);
    }
  }
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
}
