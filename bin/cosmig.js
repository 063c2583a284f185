#!/usr/bin/env node
// Checks the Node version before anything newer than it is parsed, then hands over.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  process.stderr.write(
    `cosmig: Node ${process.versions.node} is too old\n  why  cosmig needs Node 20.19 or newer\n  now  install a newer Node, then run the same command again\n`,
  );
  process.exit(2);
}
try {
  // These commands must not take much memory. V8 accepts the first setting only before the large modules have grown its heap.
  if (['verify', 'copy', 'tail', 'reverse'].includes(process.argv[2])) {
    const { keepOldGenerationSmall, keepYoungGenerationSmall } = await import('../dist/lib/heap.js');
    if (process.argv[2] === 'verify') keepYoungGenerationSmall();
    else keepOldGenerationSmall();
  }
  const { main } = await import('../dist/cli/main.js');
  await main();
} catch (error) {
  // Node could not load a module, so nothing else can explain it.
  const isLimit = await lacksFiles();
  const text = String(error?.message ?? error).split('\n', 1)[0];
  const [why, now] = isLimit
    ? [
        'the limit of open files is too low',
        'raise it to 1024 or more (ulimit -n 1024), then run the same command again',
      ]
    : ['its installation is incomplete or damaged', 'install cosmig again, then run the same command again'];
  process.stderr.write(`cosmig: cosmig could not be loaded: ${text}\n  why  ${why}\n  now  ${now}\n`);
  process.exit(isLimit ? 3 : 70);
}

/** Whether this process cannot open the files that loading needs. Node often reports this as a missing package. */
async function lacksFiles() {
  const { closeSync, openSync } = await import('node:fs');
  const open = [];
  try {
    while (open.length < 250) open.push(openSync(new URL(import.meta.url)));
    return false;
  } catch {
    return true;
  } finally {
    for (const file of open) closeSync(file);
  }
}
