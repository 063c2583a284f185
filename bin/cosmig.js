#!/usr/bin/env node
// Checks the Node version before anything newer than it is parsed, then hands over.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  process.stderr.write(
    `cosmig: Node ${process.versions.node} is too old\n  why  cosmig needs Node 20.19 or newer\n  now  install a newer Node, then run the same command again\n`,
  );
  process.exit(2);
}
// A comparison must not take much memory, and V8 accepts this setting only before the large modules have grown its heap.
if (process.argv[2] === 'verify') {
  const { keepYoungGenerationSmall } = await import('../dist/lib/heap.js');
  keepYoungGenerationSmall();
}
const { main } = await import('../dist/cli/main.js');
await main();
