// Reads results of the tests (vitest's JSON): `files RESULTS` prints the files that failed, one a line; `count RESULTS [SECOND]`
// ends with "N passed, N failed", where files of the second run count as they ended there. Status 1 if anything failed.
import { readFileSync } from 'node:fs';

const [, , command, ...paths] = process.argv;
const [first, second] = paths.map((path) => JSON.parse(readFileSync(path, 'utf8')).testResults);
const again = new Map((second ?? []).map((file) => [file.name, file]));
const isFailed = ({ status, assertionResults }) =>
  status !== 'passed' || assertionResults.some((test) => test.status !== 'passed');

if (command === 'files') {
  for (const file of first.filter(isFailed)) console.log(file.name);
} else {
  let passed = 0;
  let failed = 0;
  for (const file of first.map((one) => again.get(one.name) ?? one)) {
    const faults = file.assertionResults.filter((test) => test.status !== 'passed').length;
    passed += file.assertionResults.length - faults;
    // A file that fails without a failed test could not be loaded, or failed around its tests.
    failed += faults === 0 && isFailed(file) ? 1 : faults;
  }
  for (const file of first.filter((one) => isFailed(one) && again.has(one.name)))
    for (const test of file.assertionResults.filter(({ status }) => status !== 'passed'))
      console.log(`failed at first: ${file.name}: ${test.fullName}`);
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
}
