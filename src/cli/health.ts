import { get } from 'node:http';
import { address } from '../settings/setting-kinds.ts';
import { environmentName, settings } from '../settings/settings.ts';

// A container image has no shell and no curl: this requests the health of the admin listener in the same container, and exits
// with 0 or 1.
const outcome = address.read(process.env[environmentName(settings.adminListen)] || '127.0.0.1:8081');
const { host, port } = 'value' in outcome ? outcome.value : settings.adminListen.value;
const own = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
const request = get({ host: own, port, path: '/livez', timeout: 2500 }, (response) => {
  process.exit(response.statusCode === 200 ? 0 : 1);
});
request.on('timeout', () => process.exit(1));
request.on('error', () => process.exit(1));
