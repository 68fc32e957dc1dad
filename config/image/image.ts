import { assembleImage } from './assemble-image.ts';
import { buildImage } from './build-image.ts';
import { removeImage } from './remove-image.ts';
import { tryImage } from './try-image.ts';

// `npm run image -- build`, or `npm run image -- try`: with an engine, or without one.
const project = new URL('../../', import.meta.url);

async function attempt(): Promise<void> {
  const image = assembleImage(project);
  try {
    const { status, page, health, uid, writing, exit, events } = await tryImage(image);
    console.log(`The gateway runs in the image's file system as user ${uid}; writing there: ${writing}.`);
    console.log(`A V1 request got ${status}, the inspector's page ${page}.`);
    console.log(
      `The health check exits with ${health[0]} while the gateway runs, with ${health[1]} otherwise.`,
    );
    console.log(`After SIGTERM it said ${events.slice(1).join(', ')}, and exited with ${exit}.`);
  } finally {
    removeImage(image);
  }
}

const [command] = process.argv.slice(2);
try {
  if (command === 'try') await attempt();
  else if (command === 'build') console.log(buildImage(project));
  else throw new Error('Say what to do: npm run image -- build, or npm run image -- try.');
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
