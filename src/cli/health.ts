import { get } from 'node:http';
import { CONFIG_VARIABLE, readSetting } from '../settings/read-settings.ts';
import { settings } from '../settings/settings.ts';

// A container image has no shell and no curl: this requests the health of the admin listener in the same container, and exits
// with 0 or 1. The reader of the settings file costs more than the request, and most containers have none.
const { env: environment } = process;
const given = environment[CONFIG_VARIABLE]
  ? await (await import('./settings-file.ts')).givenSettings({}, environment)
  : { flags: {}, environment };
const { host, port } = readSetting(settings.adminListen, given);
const own = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
const request = get({ host: own, port, path: '/livez', timeout: 2500 }, (response) => {
  process.exit(response.statusCode === 200 ? 0 : 1);
});
request.on('timeout', () => process.exit(1));
request.on('error', () => process.exit(1));
