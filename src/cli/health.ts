import { get } from 'node:http';
import { CONFIG_VARIABLE, readSetting } from '../settings/read-settings.ts';
import { EVERYWHERE } from '../settings/setting-kinds.ts';
import { settings } from '../settings/settings.ts';

// For container images, which have no shell and no curl: requests the admin listener's health in the same container, and exits with 0 or
// 1. It loads the reader of the settings file, which takes longer than the request, only if there is such a file.
const { env: environment } = process;
const given = environment[CONFIG_VARIABLE]
  ? await (await import('./settings-file.ts')).givenSettings({}, environment)
  : { flags: {}, environment };
const { host, port } = readSetting(settings.adminListen, given);
// "Everywhere" may be one address family only.
const ways =
  host === '0.0.0.0' ? ['127.0.0.1'] : host === EVERYWHERE || host === '::' ? ['::1', '127.0.0.1'] : [host];
const outcomes = await Promise.all(ways.map((way) => isHealthy(way)));
process.exit(outcomes.includes(true) ? 0 : 1);

function isHealthy(way: string): Promise<boolean> {
  return new Promise((resolve) => {
    const request = get({ host: way, port, path: '/livez', timeout: 2500 }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    request.on('timeout', () => {
      request.destroy();
      resolve(false);
    });
    request.on('error', () => resolve(false));
  });
}
