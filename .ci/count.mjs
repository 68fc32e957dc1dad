// Reads results of the tests (vitest's JSON): `files RESULTS` prints the files that failed, one a line; `count RESULTS [SECOND]`
// names what failed, and ends with "N passed, N failed", where files of the second run count as they ended there; `outside RESULTS`
// counts one failure more, an error outside of all files. Status 1 if anything failed.
import { readFileSync } from 'node:fs';

const [, , command, ...paths] = process.argv;
const [first, second] = paths.map((path) => JSON.parse(readFileSync(path, 'utf8')).testResults);
const again = new Map((second ?? []).map((file) => [file.name, file]));
const faultsOf = ({ assertionResults }) => assertionResults.filter((test) => test.status !== 'passed');
const isFailed = (file) => file.status !== 'passed' || faultsOf(file).length > 0;
// A file that fails without a failed test could not be loaded, or failed around its tests.
const namesOf = (file) => {
  const names = faultsOf(file).map(({ fullName }) => fullName);
  return names.length === 0 && isFailed(file) ? [file.message || 'around its tests'] : names;
};

if (command === 'files') {
  for (const file of first.filter(isFailed)) console.log(file.name);
} else {
  let passed = 0;
  let failed = 0;
  for (const file of first.filter(({ name }) => again.has(name)))
    for (const name of namesOf(file)) console.log(`failed at first: ${file.name}: ${name}`);
  for (const file of first.map((one) => again.get(one.name) ?? one)) {
    passed += file.assertionResults.length - faultsOf(file).length;
    failed += namesOf(file).length;
    for (const name of namesOf(file)) console.log(`failed: ${file.name}: ${name}`);
  }
  if (command === 'outside') {
    failed += 1;
    console.log('failed: an error outside of all files; it is above');
  }
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
}
